/** The way to one upstream: its connection pool, the headers and tokens of every request, same-origin redirects. */
import { Pool } from 'undici'
import type { Clock } from '../../../async.ts'
import { Fault } from '../../../errors.ts'
import { isNotConnected } from './faults.ts'
import { type HttpRequest, type HttpResponse, sendHttpRequest } from './http-request.ts'
import type { Headers, RemoteSpec } from './spec.ts'

/** More calls at once than this wait for a connection; limits on calls, and on those that wait for a client's answer, stand before. */
const MAX_CALLS = 2_048
/** Streams for what comes between calls: one for each session at most, apart from the calls, which they must never hold up. */
const MAX_STREAMS = 512
const CONNECT_TIMEOUT_MS = 5_000
const MAX_REDIRECTS = 3

export type HttpClientRequest = Omit<HttpRequest, 'path' | 'headers'> & {
  /** Headers of the protocol, in lower case; they win over the user's. */
  headers: Record<string, string>
  /** Default the upstream's own. */
  path?: string
  /** A stream that stays open for as long as the session does. */
  stays?: boolean
}

export type HttpClient = {
  /** Sends with the user's headers and token. A 401 renews the token once; 307 and 308 are followed on the same origin. */
  send(request: HttpClientRequest, signal: AbortSignal): Promise<HttpResponse>
  /** Where the upstream is, after redirects. */
  url(): string
  close(): Promise<void>
}

export function createHttpClient(spec: RemoteSpec, clock: Clock): HttpClient {
  const url = new URL(spec.url)
  const calls = { pool: createPool(url.origin, MAX_CALLS), clock }
  const streams = { pool: createPool(url.origin, MAX_STREAMS), clock }
  const { fixed, current } = createHeaders(spec, url)
  let path = url.pathname + url.search

  /** Nothing was sent where no connection came about, and behind one name may stand several pods: another try may meet a living one. */
  const reach = async (request: HttpClientRequest, headers: Record<string, string>, signal: AbortSignal) => {
    const { method, body, maxBytes, events } = request
    const sent: HttpRequest = { method, path: request.path ?? path, headers, body, maxBytes, events }
    const way = request.stays ? streams : calls
    let reply: HttpResponse
    try {
      reply = await sendHttpRequest(way, sent, signal)
    } catch (error) {
      if (signal.aborted || !isNotConnected(error)) throw error
      reply = await sendHttpRequest(way, sent, signal)
    }
    return isRedirect(reply.status) ? follow(request, sent, reply, signal) : reply
  }

  const follow = async (
    request: HttpClientRequest,
    sent: HttpRequest,
    first: HttpResponse,
    signal: AbortSignal,
  ) => {
    let reply = first
    for (let redirects = 0; redirects < MAX_REDIRECTS; redirects++) {
      const next = redirectPath(reply, url.origin + sent.path)
      if (next === undefined) return reply
      sent.path = next
      if (request.path === undefined) path = next
      reply = await sendHttpRequest(request.stays ? streams : calls, sent, signal)
    }
    return reply
  }

  const withToken = async (request: HttpClientRequest, signal: AbortSignal) => {
    const { headers, token } = await current(signal)
    const reply = await reach(request, { ...headers, ...request.headers }, signal)
    if (reply.status !== 401 || token === undefined) return reply
    const renewed = await current(signal, token)
    return reach(request, { ...renewed.headers, ...request.headers }, signal)
  }

  return {
    url: () => url.origin + path,
    send: (request, signal) =>
      fixed ? reach(request, fixed(request.headers), signal) : withToken(request, signal),
    async close() {
      const fault = new Fault('cancelled', 'The upstream was closed')
      await Promise.all([calls.pool.destroy(fault), streams.pool.destroy(fault)])
    },
  }
}

/** The user's headers around the protocol's own: `fixed` where they never change, `current` with a token or what a function says now. */
function createHeaders({ headers: own, auth }: RemoteSpec, url: URL) {
  const basic = basicAuth(url)
  const always = typeof own === 'function' ? undefined : lowerCase({ ...basic, ...own })
  /** The protocol's headers of a session are the same object each time: merged once. */
  let merged = { of: {}, all: {} }
  const fixed = (ofProtocol: Record<string, string>): Record<string, string> => {
    if (merged.of !== ofProtocol) merged = { of: ofProtocol, all: { ...always, ...ofProtocol } }
    return merged.all
  }
  /** `rejected` is a token that must not be used again. */
  const current = async (signal: AbortSignal, rejected?: string) => {
    const headers = typeof own === 'function' ? lowerCase({ ...basic, ...(await own()) }) : { ...always }
    const token = await auth?.token(signal, rejected)
    return token === undefined
      ? { headers, token }
      : { headers: { ...headers, authorization: `Bearer ${token}` }, token }
  }
  return { fixed: always && !auth ? fixed : undefined, current }
}

function createPool(origin: string, connections: number): Pool {
  return new Pool(origin, {
    connections,
    pipelining: 1,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    // Silence is no fault: a call's own signal ends it.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

function isRedirect(status: number): boolean {
  return status === 307 || status === 308
}

/** Where a 307 or 308 leads to on the same origin: other redirects would take the request's secrets elsewhere. */
function redirectPath({ status, headers: { location } }: HttpResponse, from: string): string | undefined {
  if (!isRedirect(status) || typeof location !== 'string' || !URL.canParse(location, from)) return undefined
  const target = new URL(location, from)
  return target.origin === new URL(from).origin ? target.pathname + target.search : undefined
}

/** `https://user:password@host/` as fetch does not take it and many manifests have it. */
function basicAuth(url: URL): Record<string, string> {
  if (url.username === '' && url.password === '') return {}
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}

function lowerCase(headers: Headers): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
