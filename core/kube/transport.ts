/**
 * Requests to one API server over pooled HTTP/1.1 connections: a few for requests, and one for each watch, so that a dead connection
 * affects only one. Credentials are read again every minute, and immediately if the server answers 401.
 */
import { type Dispatcher, Pool } from 'undici'
import { type Clock, systemClock } from '../async.ts'
import { readBounded } from '../bounded.ts'
import { deadline, faultOf, waitFor } from '../deadline.ts'
import type { Access } from './access.ts'
import { ApiError, errorOfAnswer, unreachable } from './api-error.ts'

const REQUEST_TIMEOUT_MS = 30_000
const CONNECT_TIMEOUT_MS = 10_000
const IDLE_CONNECTION_MS = 60_000
/** Further concurrent requests wait for a free connection. */
const MAX_CONNECTIONS = 16
const TCP_PROBE_AFTER_MS = 30_000
/** As in client-go: the kubelet writes a new token long before the old one expires. */
const CREDENTIALS_LIFE_MS = 60_000
/** Limit for one page of a list. 250 objects of etcd's maximum size of 1.5 MiB would exceed it: then KubeClient asks for fewer at a time. */
const MAX_ANSWER_BYTES = 32 * 2 ** 20
const UNAUTHORIZED = 401

export type ApiRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  query?: Record<string, string | number | boolean | undefined>
  body?: string
  contentType?: string
  /** Default: `application/json`. */
  accept?: string
}

export type TransportOptions = {
  /** Limit for a whole request, including reading the credentials. Default: 30 s. */
  timeoutMs?: number
  clock?: Clock
}

/** The credentials as last read, and the connections that use them. If only the token changes, the connections are kept. */
type Connections = {
  headers: Record<string, string>
  tls: string
  requests: Pool
  watches: Pool
  readAt: number
}

type PoolName = 'requests' | 'watches'

/** All methods reject with ApiError, or with the fault of the caller's signal. */
export class Transport {
  readonly #access: Access
  readonly #origin: string
  /** Before the path of every request: empty unless the server is behind a proxy that serves several clusters. */
  readonly #base: string
  readonly #timeoutMs: number
  readonly #clock: Clock
  #connections: Connections | undefined
  #reading: Promise<Connections> | undefined
  /** Pools that get no new requests, and close when theirs have ended. */
  readonly #replaced = new Set<Pool>()
  #closed = false

  constructor(
    access: Access,
    { timeoutMs = REQUEST_TIMEOUT_MS, clock = systemClock }: TransportOptions = {},
  ) {
    const { origin, pathname } = new URL(access.server)
    this.#access = access
    this.#origin = origin
    this.#base = pathname.replace(/\/+$/, '')
    this.#timeoutMs = timeoutMs
    this.#clock = clock
  }

  /** Returns the body of a successful answer. */
  async send(request: ApiRequest, signal?: AbortSignal): Promise<string> {
    const limit = this.#limit(signal)
    let connections: Connections | undefined
    try {
      connections = await waitFor(this.#current(), limit.signal)
      return await readAll((await this.#exchange(request, connections, 'requests', limit.signal)).body)
    } catch (error) {
      if (limit.signal.aborted && !signal?.aborted) this.#drop(connections)
      throw this.#translate(error, signal, limit.signal)
    } finally {
      limit.clear()
    }
  }

  /** Returns the body of a successful answer as a stream, until `signal` aborts. The timeout applies only until the headers arrive. */
  async open(request: ApiRequest, signal: AbortSignal): Promise<AsyncIterable<Buffer>> {
    const limit = this.#limit()
    const both = AbortSignal.any([signal, limit.signal])
    try {
      const connections = await waitFor(this.#current(), both)
      return (await this.#exchange(request, connections, 'watches', both)).body
    } catch (error) {
      throw this.#translate(error, signal, limit.signal)
    } finally {
      limit.clear()
    }
  }

  /** Cancels all requests and closes all connections. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#reading?.catch(() => {})
    const { requests, watches } = this.#connections ?? {}
    await Promise.all([requests, watches, ...this.#replaced].map(pool => pool?.destroy()))
  }

  /** Sends the request; after a 401, once more if the credentials have changed. Rejects unless the answer is a success. */
  async #exchange(request: ApiRequest, connections: Connections, pool: PoolName, signal: AbortSignal) {
    let answer = await this.#dispatch(request, connections, pool, signal)
    if (answer.statusCode === UNAUTHORIZED) {
      const fresh = await waitFor(this.#read(), signal)
      if (
        fresh.headers.authorization !== connections.headers.authorization ||
        fresh.tls !== connections.tls
      ) {
        await answer.body.dump()
        answer = await this.#dispatch(request, fresh, pool, signal)
      }
    }
    if (answer.statusCode < 300) return answer
    throw errorOfAnswer(answer.statusCode, await readAll(answer.body), headerOf(answer, 'retry-after'))
  }

  #dispatch(request: ApiRequest, connections: Connections, pool: PoolName, signal: AbortSignal) {
    return connections[pool].request({
      path: `${this.#base}${request.path}`,
      method: request.method,
      query: Object.fromEntries(
        Object.entries(request.query ?? {}).filter(([, value]) => value !== undefined),
      ),
      headers: {
        accept: request.accept ?? 'application/json',
        'user-agent': 'portolan',
        ...connections.headers,
        ...(request.body === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' }),
      },
      body: request.body ?? null,
      signal,
    })
  }

  async #current(): Promise<Connections> {
    const connections = this.#connections
    if (connections && this.#clock.elapsed() - connections.readAt < CREDENTIALS_LIFE_MS) return connections
    return this.#read().catch(error => {
      if (!connections) throw error
      return connections // The last credentials are probably still valid.
    })
  }

  /** Reads the credentials; concurrent callers share one read. */
  #read(): Promise<Connections> {
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #readOnce(): Promise<Connections> {
    const { headers, tls } = await this.#access.credentials()
    if (this.#closed) throw new ApiError(0, 'Closed', 'The client of the API server is closed')
    const last = this.#connections
    const fingerprint = JSON.stringify(tls)
    const readAt = this.#clock.elapsed()
    if (last?.tls === fingerprint) {
      this.#connections = { ...last, headers, readAt }
    } else {
      const connect = { ...tls, timeout: CONNECT_TIMEOUT_MS, keepAliveInitialDelay: TCP_PROBE_AFTER_MS }
      this.#connections = {
        headers,
        tls: fingerprint,
        requests: this.#pool(connect, MAX_CONNECTIONS),
        watches: this.#pool(connect),
        readAt,
      }
      if (last) this.#retire(last)
    }
    return this.#connections
  }

  /** After a timeout the connection may be dead: later requests open new ones. */
  #drop(connections: Connections | undefined): void {
    if (!connections || this.#connections?.requests !== connections.requests) return
    this.#connections = undefined
    this.#retire(connections)
  }

  /** Lets the requests of replaced connections end, such as long watches, unless this transport is closed first. */
  #retire({ requests, watches }: Connections): void {
    for (const pool of [requests, watches]) {
      this.#replaced.add(pool)
      const forget = () => this.#replaced.delete(pool)
      pool.close().then(forget, forget)
    }
  }

  /**
   * A Pool rather than an Agent, which cannot be destroyed once it closes. HTTP/2 is off: with undici 8.12, a request that is aborted while it
   * is sent leaves a stream without an error listener. When the API server then closes the connection, the unhandled error ends the process.
   */
  #pool(connect: object, connections: number | null = null): Pool {
    return new Pool(this.#origin, {
      allowH2: false,
      connections,
      connect,
      keepAliveTimeout: IDLE_CONNECTION_MS,
      // Every request has its own deadline.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  #limit(signal?: AbortSignal) {
    const message = `The API server gave no answer within ${this.#timeoutMs / 1_000} s`
    return deadline(this.#clock, this.#timeoutMs, message, signal)
  }

  #translate(error: unknown, signal: AbortSignal | undefined, limit: AbortSignal): Error {
    if (signal?.aborted) return faultOf(signal)
    if (error instanceof ApiError) return error
    if (limit.aborted) return new ApiError(0, 'Timeout', faultOf(limit).message, { cause: error })
    return unreachable(error)
  }
}

async function readAll(body: AsyncIterable<Buffer>): Promise<string> {
  const message = `The API server's answer is larger than ${MAX_ANSWER_BYTES} bytes`
  const whole = await readBounded(body, MAX_ANSWER_BYTES, () => new ApiError(0, 'TooLarge', message))
  return whole.toString('utf8')
}

function headerOf({ headers }: Dispatcher.ResponseData, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}
