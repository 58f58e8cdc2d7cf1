/** The HTTP client of one upstream: connection pools, configured headers, tokens, and same-origin redirects. */
// Unlike decodeURIComponent, takes a percent sign that encodes nothing as it is.
import { unescape as decoded } from 'node:querystring'
import { buildConnector, Pool } from 'undici'
import { Fault } from '../../../errors.ts'
import type { HostGuard } from '../../../host-guard.ts'
import { createOutbound } from '../../../outbound.ts'
import { closingFault, isNotConnected, isRefusal } from './faults.ts'
import { type Connections, type HttpRequest, type HttpResponse, sendHttpRequest } from './http-request.ts'
import type { Headers, RemoteDeps, RemoteSpec } from './spec.ts'

/** Further calls wait for a connection. Other limits, on calls and on open questions, apply before this one. */
const MAX_CALLS = 2_048
/** Streams that stay open, at most one for each session. A pool of their own, so that they never block calls. */
const MAX_STREAMS = 512
const CONNECT_TIMEOUT_MS = 5_000
const MAX_REDIRECTS = 3

export type HttpClientRequest = Omit<HttpRequest, 'path' | 'headers'> & {
  /** Headers of the protocol, in lower case; they override the configured ones. */
  headers: Record<string, string>
  /** Default: the path of the upstream's URL. */
  path?: string
  /** A stream that stays open as long as the session. */
  stays?: boolean
}

export type HttpClient = {
  /** Sends with the configured headers and token. A 401 renews the token once; 307 and 308 are followed on the same origin. */
  send(request: HttpClientRequest, signal: AbortSignal): Promise<HttpResponse>
  /** The origin of the upstream's URL. */
  origin: string
  close(): Promise<void>
}

export function createHttpClient(spec: RemoteSpec, { clock, guard, room: whole }: RemoteDeps): HttpClient {
  const url = new URL(spec.url)
  const connect = connectOf(spec, guard)
  const check = () => guard?.check(url)
  const room = whole?.share()
  const calls = { pool: createPool(url.origin, MAX_CALLS, connect), clock, room, check }
  const streams = { pool: createPool(url.origin, MAX_STREAMS, connect), clock, room, check }
  const { fixed, current } = createHeaders(spec, url)
  const start = url.pathname + url.search
  /** `start`, or where a redirect leads that lasts, as long as its target works. */
  let path = start

  const reach = (request: HttpClientRequest, headers: Record<string, string>, signal: AbortSignal) => {
    const { method, body, maxBytes, events } = request
    const sent: HttpRequest = { method, path: request.path ?? path, headers, body, maxBytes, events }
    return sendUntilAccepted(request.stays ? streams : calls, sent, signal).then(reply => {
      if (isRedirect(reply.status)) return follow(request, sent, reply, signal)
      if (reply.status >= 400) path = start
      return reply
    })
  }

  const follow = async (
    request: HttpClientRequest,
    sent: HttpRequest,
    first: HttpResponse,
    signal: AbortSignal,
  ) => {
    let reply = first
    let lasts = request.path === undefined
    for (let redirects = 0; redirects < MAX_REDIRECTS; redirects++) {
      const next = redirectPath(reply, url.origin + sent.path)
      if (next === undefined) break
      lasts &&= reply.status === 308 || withoutSlash(next) === withoutSlash(sent.path)
      sent.path = next
      reply = await sendHttpRequest(request.stays ? streams : calls, sent, signal)
    }
    if (reply.status >= 300) path = start
    else if (lasts) path = sent.path
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
    origin: url.origin,
    send: (request, signal) =>
      fixed ? reach(request, fixed(request.headers), signal) : withToken(request, signal),
    async close() {
      const fault = new Fault('cancelled', 'The upstream was closed')
      await Promise.all([calls.pool.destroy(fault), streams.pool.destroy(fault)])
    },
  }
}

/**
 * Sends a request again if nothing was executed, since another pod with the same name may be up: once if no connection could be opened.
 * A pod that is shutting down closes the connection on which it refuses a request, but other idle ones may lead to it too.
 */
async function sendUntilAccepted(
  connections: PoolConnections,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<HttpResponse> {
  connections.check()
  let repeats: number | undefined
  for (;;) {
    try {
      const reply = await sendHttpRequest(connections, request, signal)
      throwIfClosing(reply)
      return reply
    } catch (error) {
      if (signal.aborted || !isNotConnected(error)) throw error
      repeats ??= 1 + (isRefusal(error) ? connections.pool.stats.free : 0)
      if (repeats-- === 0) throw error
    }
  }
}

/** Throws a Fault if the upstream is shutting down and rejected the request. */
function throwIfClosing(reply: HttpResponse): void {
  const refused = closingFault(reply)
  if (refused) throw refused
}

/** Merges the configured headers with the protocol's: `fixed` if they never change, else `current`, with a token or computed headers. */
function createHeaders({ headers: configured, auth }: RemoteSpec, url: URL) {
  const basic = basicAuth(url)
  const always = typeof configured === 'function' ? undefined : lowerCase({ ...basic, ...configured })
  /** A session passes the same object each time, so that headers are merged only once. */
  let merged = { of: {}, all: {} }
  const fixed = (ofProtocol: Record<string, string>): Record<string, string> => {
    if (merged.of !== ofProtocol) merged = { of: ofProtocol, all: { ...always, ...ofProtocol } }
    return merged.all
  }
  /** `rejected`: a token that the upstream refused. */
  const current = async (signal: AbortSignal, rejected?: string) => {
    const headers =
      typeof configured === 'function' ? lowerCase({ ...basic, ...(await configured()) }) : { ...always }
    const token = await auth?.token(signal, rejected)
    return token === undefined
      ? { headers, token }
      : { headers: { ...headers, authorization: `Bearer ${token}` }, token }
  }
  return { fixed: always && !auth ? fixed : undefined, current }
}

type Connect = NonNullable<Pool.Options['connect']>
/** `check` throws a Fault if the host must not be reached. */
type PoolConnections = Connections & { pool: Pool; check: () => void }

function connectOf({ authority, certificateHost }: RemoteSpec, guard: HostGuard | undefined): Connect {
  // Servers with their own certificate authority run in this cluster, where no proxy is needed.
  if (!authority) return createOutbound({ timeoutMs: CONNECT_TIMEOUT_MS, guard })
  return trusting(authority, {
    timeout: CONNECT_TIMEOUT_MS,
    ...(certificateHost !== undefined && { servername: certificateHost }),
    ...(guard?.lookup && { lookup: guard.lookup }),
  })
}

/**
 * Connects with TLS, trusting the current authority. Creates a new connector when it changes: the former one would resume TLS sessions
 * of the former authority.
 */
function trusting(authority: () => string, options: buildConnector.BuildOptions): buildConnector.connector {
  let made: { ca: string; connect: buildConnector.connector } | undefined
  return (target, callback) => {
    let ca: string
    try {
      ca = authority()
    } catch (error) {
      callback(error instanceof Error ? error : new Error(String(error)), null)
      return
    }
    if (made?.ca !== ca) made = { ca, connect: buildConnector({ ...options, ...trustOptions(ca) }) }
    made.connect(target, callback)
  }
}

/** Accepts chains that end at any of these certificates. Without the option, only one of several self-signed ones with the same subject is found. */
function trustOptions(ca: string) {
  return { ca, allowPartialTrustChain: true }
}

function createPool(origin: string, connections: number, connect: Connect): Pool {
  return new Pool(origin, {
    connections,
    pipelining: 1,
    connect,
    // No timeouts here: each call's own signal ends it.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

function isRedirect(status: number): boolean {
  return status === 307 || status === 308
}

/** The target of a 307 or 308 on the same origin; other redirects would send the request's secrets to another host. */
function redirectPath({ status, headers: { location } }: HttpResponse, from: string): string | undefined {
  if (!isRedirect(status) || typeof location !== 'string' || !URL.canParse(location, from)) return undefined
  const target = new URL(location, from)
  return target.origin === new URL(from).origin ? target.pathname + target.search : undefined
}

/** A path without a slash at its end. Many servers answer `/mcp` with 307 to `/mcp/`, always, although 307 means a temporary redirect. */
function withoutSlash(path: string): string {
  return path.replace(/\/(?=\?|$)/, '')
}

/** The header for the credentials in `https://user:password@host/`. Manifests must not contain such URLs. */
function basicAuth(url: URL): Record<string, string> {
  if (url.username === '' && url.password === '') return {}
  const pair = `${decoded(url.username)}:${decoded(url.password)}`
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}

function lowerCase(headers: Headers): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
