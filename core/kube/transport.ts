/**
 * Requests to one API server over kept connections of HTTP/1.1: a few for requests, one for each watch, so that a dead one is
 * dropped alone. Credentials are read again every minute, and at once where the server refuses them.
 */
import { Agent, type Dispatcher } from 'undici'
import { type Clock, systemClock } from '../async.ts'
import { readBounded } from '../bounded.ts'
import { deadline, faultOf, waitFor } from '../deadline.ts'
import type { Access } from './access.ts'
import { ApiError, errorOfAnswer, unreachable } from './api-error.ts'

const REQUEST_TIMEOUT_MS = 30_000
const CONNECT_TIMEOUT_MS = 10_000
const IDLE_CONNECTION_MS = 60_000
/** More requests at once wait for one of them. */
const MAX_CONNECTIONS = 16
const TCP_PROBE_AFTER_MS = 30_000
/** As client-go; the kubelet writes a new token long before the old one ends. */
const CREDENTIALS_LIFE_MS = 60_000
/** A page of a list, at most: 250 objects at etcd's limit of 1.5 MiB would be more, so such lists fail loudly. */
const MAX_ANSWER_BYTES = 128 * 2 ** 20
const UNAUTHORIZED = 401

export type ApiRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  query?: Record<string, string | number | boolean | undefined>
  body?: string
  contentType?: string
  /** Where it is not plain JSON. */
  accept?: string
}

export type TransportOptions = {
  /** How long one request may take in all; 30 s. */
  timeoutMs?: number
  clock?: Clock
}

/** What one reading of the credentials gave; the connections live on where only the token changed. */
type Connections = {
  headers: Record<string, string>
  tls: string
  requests: Agent
  watches: Agent
  readAt: number
}

type Over = 'requests' | 'watches'

/** All methods reject with ApiError, or with the fault of the caller's signal. */
export class Transport {
  readonly #access: Access
  readonly #timeoutMs: number
  readonly #clock: Clock
  #link: Connections | undefined
  #reading: Promise<Connections> | undefined
  #closed = false

  constructor(
    access: Access,
    { timeoutMs = REQUEST_TIMEOUT_MS, clock = systemClock }: TransportOptions = {},
  ) {
    this.#access = access
    this.#timeoutMs = timeoutMs
    this.#clock = clock
  }

  /** The body of a successful answer. */
  async send(request: ApiRequest, signal?: AbortSignal): Promise<string> {
    const limit = this.#limit(signal)
    let link: Connections | undefined
    try {
      link = await waitFor(this.#current(), limit.signal)
      return await readAll((await this.#exchange(request, link, 'requests', limit.signal)).body)
    } catch (error) {
      if (limit.signal.aborted && !signal?.aborted) this.#drop(link)
      throw this.#translate(error, signal, limit.signal)
    } finally {
      limit.clear()
    }
  }

  /** The body of a successful answer that goes on until `signal` aborts. Only the answer's beginning is limited in time. */
  async open(request: ApiRequest, signal: AbortSignal): Promise<AsyncIterable<Buffer>> {
    const limit = this.#limit()
    const both = AbortSignal.any([signal, limit.signal])
    try {
      const link = await waitFor(this.#current(), both)
      return (await this.#exchange(request, link, 'watches', both)).body
    } catch (error) {
      throw this.#translate(error, signal, limit.signal)
    } finally {
      limit.clear()
    }
  }

  /** Ends all requests and connections. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#reading?.catch(() => {})
    await Promise.all([this.#link?.requests.destroy(), this.#link?.watches.destroy()])
  }

  /** Sends, and once again with fresh credentials where the server refuses those in hand. Rejects where the answer is no success. */
  async #exchange(request: ApiRequest, link: Connections, over: Over, signal: AbortSignal) {
    let answer = await this.#dispatch(request, link, over, signal)
    if (answer.statusCode === UNAUTHORIZED) {
      const fresh = await waitFor(this.#read(), signal)
      if (fresh.headers.authorization !== link.headers.authorization || fresh.tls !== link.tls) {
        await answer.body.dump()
        answer = await this.#dispatch(request, fresh, over, signal)
      }
    }
    if (answer.statusCode < 300) return answer
    throw errorOfAnswer(answer.statusCode, await readAll(answer.body), headerOf(answer, 'retry-after'))
  }

  #dispatch(request: ApiRequest, link: Connections, over: Over, signal: AbortSignal) {
    return link[over].request({
      origin: this.#access.server,
      path: request.path,
      method: request.method,
      query: Object.fromEntries(
        Object.entries(request.query ?? {}).filter(([, value]) => value !== undefined),
      ),
      headers: {
        accept: request.accept ?? 'application/json',
        'user-agent': 'portolan',
        ...link.headers,
        ...(request.body === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' }),
      },
      body: request.body ?? null,
      signal,
    })
  }

  async #current(): Promise<Connections> {
    const link = this.#link
    if (link && this.#clock.now() - link.readAt < CREDENTIALS_LIFE_MS) return link
    return this.#read().catch(error => {
      if (!link) throw error
      return link // what cannot be read just now was good a moment ago
    })
  }

  /** Reads the credentials; many callers share one reading. */
  #read(): Promise<Connections> {
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #readOnce(): Promise<Connections> {
    const { headers, tls } = await this.#access.credentials()
    if (this.#closed) throw new ApiError(0, 'Closed', 'The client of the API server is closed')
    const last = this.#link
    const print = JSON.stringify(tls)
    const readAt = this.#clock.now()
    if (last?.tls === print) {
      this.#link = { ...last, headers, readAt }
    } else {
      const connect = { ...tls, timeout: CONNECT_TIMEOUT_MS, keepAliveInitialDelay: TCP_PROBE_AFTER_MS }
      this.#link = {
        headers,
        tls: print,
        requests: agent(connect, MAX_CONNECTIONS),
        watches: agent(connect),
        readAt,
      }
      last?.requests.close().catch(() => {})
      last?.watches.close().catch(() => {})
    }
    return this.#link
  }

  /** A connection on which a request had no answer in time may be dead: the next request makes a new one. */
  #drop(link: Connections | undefined): void {
    if (!link || this.#link?.requests !== link.requests) return
    this.#link = undefined
    link.requests.close().catch(() => {})
    link.watches.close().catch(() => {})
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

/**
 * No HTTP/2: with undici 8.12 a request that is aborted as it is sent leaves a stream behind, whose error nobody hears when the API
 * server ends the connection. That ends the process.
 */
function agent(connect: object, connections: number | null = null): Agent {
  return new Agent({
    allowH2: false,
    connections,
    connect,
    keepAliveTimeout: IDLE_CONNECTION_MS,
    // every request has a limit of its own
    headersTimeout: 0,
    bodyTimeout: 0,
  })
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
