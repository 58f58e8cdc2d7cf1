/** The way to one upstream: its connection pool, the headers and tokens of every request, same-origin redirects. */
import { Pool } from 'undici'
import type { Clock } from '../../async.ts'
import { Fault } from '../../errors.ts'
import { exchange, type HttpReply, type HttpRequest } from './exchange.ts'
import { isNotConnected } from './faults.ts'
import type { Headers, RemoteSpec } from './spec.ts'

/** More calls at once than this wait for a connection; limits on calls stand before. */
const MAX_CONNECTIONS = 256
const CONNECT_TIMEOUT_MS = 5_000
export const MAX_REDIRECTS = 3

export type LinkRequest = Omit<HttpRequest, 'path' | 'headers'> & {
  /** Headers of the protocol, in lower case; they win over the user's. */
  headers: Record<string, string>
}

export type Link = {
  /** Sends with the user's headers and token. A 401 renews the token once; 307 and 308 are followed on the same origin. */
  send(request: LinkRequest, signal: AbortSignal): Promise<HttpReply>
  /** The user's headers and a bearer token; `rejected` is a token that must not be used again. */
  headers(
    signal: AbortSignal,
    rejected?: string,
  ): Promise<{ headers: Record<string, string>; token?: string }>
  readonly pool: Pool
  close(): Promise<void>
}

export function createLink(spec: RemoteSpec, clock: Clock): Link {
  const url = new URL(spec.url)
  const pool = new Pool(url.origin, {
    connections: MAX_CONNECTIONS,
    pipelining: 1,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    // Silence is no fault: a call's own signal ends it.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  let path = url.pathname + url.search
  const fixed =
    typeof spec.headers === 'function' ? undefined : lowerCase({ ...basicAuth(url), ...spec.headers })

  const headersFor: Link['headers'] = async (signal, rejected) => {
    const headers =
      fixed ?? lowerCase({ ...basicAuth(url), ...(await (spec.headers as () => Promise<Headers>)()) })
    if (!spec.auth) return { headers }
    const token = await spec.auth.token(signal, rejected)
    return { headers: { ...headers, authorization: `Bearer ${token}` }, token }
  }

  /** Nothing was sent where no connection came about, and behind one name may stand several pods: another try may meet a living one. */
  const reach = async (request: HttpRequest, signal: AbortSignal) => {
    try {
      return await exchange({ pool, clock }, request, signal)
    } catch (error) {
      if (signal.aborted || !isNotConnected(error)) throw error
      return exchange({ pool, clock }, request, signal)
    }
  }

  const sendTo = async (request: LinkRequest, headers: Record<string, string>, signal: AbortSignal) => {
    for (let redirects = 0; ; redirects++) {
      const reply = await reach({ ...request, path, headers: { ...headers, ...request.headers } }, signal)
      const next = redirectPath(reply.status, reply.headers.location, url.origin + path)
      if (next === undefined || redirects === MAX_REDIRECTS) return reply
      path = next
    }
  }

  return {
    pool,
    headers: headersFor,
    async send(request, signal) {
      if (fixed && !spec.auth) return sendTo(request, fixed, signal)
      const { headers, token } = await headersFor(signal)
      const reply = await sendTo(request, headers, signal)
      if (reply.status !== 401 || token === undefined) return reply
      return sendTo(request, (await headersFor(signal, token)).headers, signal)
    },
    close: () => pool.destroy(new Fault('cancelled', 'The upstream was closed')),
  }
}

/** Where a 307 or 308 leads to on the same origin: other redirects would take the request's secrets elsewhere. */
export function redirectPath(status: number, location: unknown, from: string): string | undefined {
  if ((status !== 307 && status !== 308) || typeof location !== 'string' || !URL.canParse(location, from))
    return undefined
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
