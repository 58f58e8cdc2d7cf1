/** Which replica a request belongs to: the one that its session began at, or that asked what it answers. */
import type { IncomingHttpHeaders } from 'node:http'
import { isIP, isIPv6 } from 'node:net'
import type { Clock } from '../../core/async.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import type { McpRoute } from '../../core/mcp/server/handler.ts'
import type { SignedSessions } from '../../core/mcp/server/session-ids.ts'
import type { Gone } from './replicas.ts'

export type Owners = {
  /** Undefined where a request is to be answered here: nothing of it is bound to a replica, or we are that replica. */
  find(config: RouterConfig, route: McpRoute, request: OwnedRequest): Owner | undefined
  /** The replicas that we know of: those whose signature was seen. */
  others(): string[]
  /** It could not be reached, and is not asked again for a while: a short one where it said so at once, as it may be about to begin anew. */
  lost(origin: string, how: Gone): void
}

/** `bound`: what is asked makes no sense elsewhere. */
export type Owner = { origin: string; isGone: boolean; bound: boolean }

export type OwnedRequest = { method: string; headers: IncomingHttpHeaders; body?: string }

export type OwnersOptions = {
  sessions: SignedSessions
  /** Our own name in what is signed, made by `ownerAt`. */
  owner: string
  clock: Clock
}

/** An owner that could not be reached is not asked again for so long. */
const GONE_MS: Readonly<Record<Gone, number>> = {
  refused: 1_000,
  ending: 10_000,
  unreachable: 10_000,
  silent: 10_000,
}
const MAX_GONE = 100
const MAX_OTHERS = 32
/** What only the owner of a session can do, since it has the client's streams; found in a body without parsing it. */
const BOUND_METHOD = /"method"\s*:\s*"(?:resources\/(?:un)?subscribe|logging\/setLevel)"/

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

export function createOwners({ sessions, owner, clock }: OwnersOptions): Owners {
  const goneUntil = new BoundedMap<number>(MAX_GONE)
  const known = new Set<string>()
  let last: { config?: RouterConfig; keepsClients: boolean } = { keepsClients: false }

  /** Whether some server keeps anything for its clients; asked for every request, so answered once a config. */
  function keepsClients(config: RouterConfig): boolean {
    if (last.config !== config)
      last = { config, keepsClients: config.servers.some(({ sessions }) => sessions === 'perClient') }
    return last.keepsClients
  }

  function locate(name: string, bound: boolean): Owner | undefined {
    const origin = name === owner ? undefined : originOf(name)
    if (origin === undefined) return undefined
    if (known.size < MAX_OTHERS) known.add(origin)
    return { origin, bound, isGone: (goneUntil.get(origin) ?? 0) > clock.now() }
  }

  return {
    find(config, route, { method, headers, body }) {
      const asking = body === undefined ? undefined : sessions.ownerOfBody(body)
      if (asking !== undefined) {
        const asker = locate(asking, false)
        // It still waits while it ends, and may have begun anew: nobody else can take the answer.
        return asker && { ...asker, isGone: false }
      }
      const id = headers['mcp-session-id']
      if (typeof id !== 'string' || id.startsWith(`${owner}.`)) return undefined
      const name = sessions.ownerOf(id)
      const found = name === undefined ? undefined : locate(name, isBound(method, body))
      return found?.bound || method === 'DELETE' || keepsSets(route) || keepsClients(config)
        ? found
        : undefined
    },
    others: () => [...known].filter(origin => (goneUntil.get(origin) ?? 0) <= clock.now()),
    lost(origin, how) {
      goneUntil.set(origin, clock.now() + GONE_MS[how])
      known.delete(origin)
    },
  }
}

function isBound(method: string, body: string | undefined): boolean {
  return method === 'GET' || (body !== undefined && BOUND_METHOD.test(body))
}

/** What a client activates is kept for its session. */
function keepsSets(route: McpRoute): boolean {
  return route.kind === 'gateway' && route.profile === 'registry'
}
