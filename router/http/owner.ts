/** Hands a request over to the replica that its session began at: what a server keeps for each client is there. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { isIP, isIPv6 } from 'node:net'
import { pipeline } from 'node:stream/promises'
import type { FastifyRequest } from 'fastify'
import { Agent } from 'undici'
import type { Clock } from '../../core/async.ts'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import { messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { writeText } from '../../core/mcp/front/exchange.ts'
import type { McpRoute } from '../../core/mcp/front/handler.ts'
import type { InFlight } from '../../core/mcp/front/in-flight.ts'
import { TRANSPORT_ERROR } from '../../core/mcp/front/rejection.ts'
import { errorText } from '../../core/mcp/front/reply.ts'
import type { SignedSessions } from '../../core/mcp/front/session.ts'

export type Forwarder = {
  /**
   * Undefined where the request is to be answered here: it has no session, the session is our own, or nothing is kept for the
   * clients of the route. Else the request is answered in the owner's words, and the promise resolves with true; or with false where
   * the owner is gone, and with it what was bound to the session. Never rejects.
   */
  forward(
    config: RouterConfig,
    route: McpRoute,
    request: ForwardedRequest,
    raw: ServerResponse,
  ): Promise<boolean> | undefined
  close(): Promise<void>
}

export type ForwardedRequest = Pick<FastifyRequest, 'method' | 'url' | 'headers' | 'body'>

export type ForwarderOptions = {
  sessions: SignedSessions
  /** Our own name in the ids of sessions, made by `ownerAt`. */
  owner: string
  inFlight: InFlight
  log: Log
  clock: Clock
}

/** A request that was handed over is not handed on. */
const MARK = 'portolan-forwarded'
const CONNECT_TIMEOUT_MS = 1_000
/** An owner that could not be reached is not asked again for so long. */
const GONE_MS = 10_000
const MAX_GONE = 100
/** Of one connection alone, written anew, or (the origin) checked already. */
const OWN_HEADERS = [
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'host',
  'upgrade',
  'expect',
  'origin',
]
const BROKE_OFF =
  'The replica that holds this session ended during the request. Check whether it took effect, then try again.'

/** An owner's name by which its replicas reach it: a pod's address and port, with no dot. */
export function ownerAt(address: string, port: number): string {
  return `${address.replaceAll('.', '_')}:${port}`
}

/** The origin that such a name stands for; undefined for any other name. */
export function originOf(owner: string): string | undefined {
  const end = owner.lastIndexOf(':')
  const address = owner.slice(0, end).replaceAll('_', '.')
  const port = Number(owner.slice(end + 1))
  if (isIP(address) === 0 || !(port > 0 && port < 65_536)) return undefined
  return `http://${isIPv6(address) ? `[${address}]` : address}:${port}`
}

export function createForwarder(options: ForwarderOptions): Forwarder {
  const { inFlight, log } = options
  const agent = new Agent({ connect: { timeout: CONNECT_TIMEOUT_MS }, headersTimeout: 0, bodyTimeout: 0 })
  const owners = createOwners(options)

  async function hand(origin: string, request: ForwardedRequest, raw: ServerResponse): Promise<boolean> {
    const { method, url: path, body } = request
    const headers = { ...withoutOwn(request.headers), [MARK]: '1' }
    // Aborts when the caller goes away, and when this process has to end.
    const { signal } = inFlight.open(raw, undefined)
    try {
      const sent = {
        origin,
        path,
        method: method as 'POST',
        headers,
        body: body as string | undefined,
        signal,
      }
      const answer = await agent.request(sent)
      raw.writeHead(answer.statusCode, withoutOwn(answer.headers))
      await pipeline(answer.body, raw)
    } catch (error) {
      if (!signal.aborted && !raw.headersSent && isUnreachable(error)) {
        log.warn({ owner: origin, error: messageOf(error) }, 'the owner of a session is gone')
        owners.lost(origin)
        return false
      }
      if (signal.aborted || raw.headersSent) raw.destroy()
      else writeText(raw, 502, errorText(null, { code: TRANSPORT_ERROR, message: BROKE_OFF }))
    }
    return true
  }

  return {
    forward(config, route, request, raw) {
      const origin = owners.find(config, route, request.headers)
      return origin === undefined ? undefined : hand(origin, request, raw)
    },
    close: () => agent.destroy(),
  }
}

function createOwners({ sessions, owner, clock }: ForwarderOptions) {
  const goneUntil = new Map<string, number>()
  let last: { config?: RouterConfig; keepsClients: boolean } = { keepsClients: false }

  /** Whether some server keeps anything for its clients; asked for every request, so answered once a config. */
  function keepsClients(config: RouterConfig): boolean {
    if (last.config !== config)
      last = { config, keepsClients: config.servers.some(({ sessions }) => sessions === 'perClient') }
    return last.keepsClients
  }

  return {
    /** Where the session's owner is; undefined where that is us, unknown or gone, or nothing hangs on it. */
    find(config: RouterConfig, route: McpRoute, headers: IncomingHttpHeaders): string | undefined {
      const id = headers['mcp-session-id']
      if (typeof id !== 'string' || id.startsWith(`${owner}.`) || headers[MARK] !== undefined)
        return undefined
      const other = keepsSets(route) || keepsClients(config) ? sessions.ownerOf(id) : undefined
      const origin = other === undefined ? undefined : originOf(other)
      return origin !== undefined && (goneUntil.get(origin) ?? 0) <= clock.now() ? origin : undefined
    },
    lost(origin: string): void {
      if (goneUntil.size >= MAX_GONE) goneUntil.clear()
      goneUntil.set(origin, clock.now() + GONE_MS)
    },
  }
}

/** What a client activates is kept for its session. */
function keepsSets(route: McpRoute): boolean {
  return route.kind === 'gateway' && route.profile === 'registry'
}

/** Only an owner that surely got nothing may be stood in for. */
function isUnreachable(error: unknown): boolean {
  const { code } = error as { code?: string }
  return ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'].includes(code ?? '')
}

function withoutOwn(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const kept = Object.entries(headers).filter(
    (entry): entry is [string, string | string[]] =>
      entry[1] !== undefined && !OWN_HEADERS.includes(entry[0]),
  )
  return Object.fromEntries(kept)
}
