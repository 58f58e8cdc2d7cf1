/** Determines which replica a request belongs to: the one where its session began, or the one that asked the question it answers. */
import type { IncomingHttpHeaders } from 'node:http'
import { isIP, isIPv6 } from 'node:net'
import type { Clock } from '../../core/async.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import { isObject, tryParseJson } from '../../core/json.ts'
import type { McpRoute } from '../../core/mcp/server/handler.ts'
import type { SignedSessions } from '../../core/mcp/server/session-ids.ts'
import type { Gone } from './replicas.ts'

export type Owners = {
  /** Returns undefined if the request can be answered here: nothing in it is bound to a replica, or it is bound to this one. */
  find(config: RouterConfig, route: McpRoute, request: OwnedRequest): Owner | undefined
  /** Known replicas: those whose signature was seen. */
  others(): string[]
  /** Marks a replica as unreachable for a while. After a refused connection that is a short time, since it may be restarting. */
  markGone(origin: string, how: Gone): void
}

/** `bound`: no other replica can answer the request. `repeatable`: it does no harm if the owner processes it twice. */
export type Owner = { origin: string; isGone: boolean; bound: boolean; repeatable: boolean }

export type OwnedRequest = { method: string; headers: IncomingHttpHeaders; body?: string }

export type OwnersOptions = {
  sessions: SignedSessions
  /** This replica's own name in signed ids, made by `ownerAt`. */
  owner: string
  clock: Clock
}

/** How long an unreachable owner is not called again. */
const GONE_MS: Readonly<Record<Gone, number>> = {
  refused: 1_000,
  ending: 10_000,
  unreachable: 10_000,
  silent: 10_000,
}
const MAX_GONE = 100
const MAX_OTHERS = 32
/** Methods that only the owner of a session can serve, since it has the client's streams. */
const BOUND_METHODS: ReadonlySet<unknown> = new Set([
  'resources/subscribe',
  'resources/unsubscribe',
  'logging/setLevel',
])
/** Found in every body with such a method, which is parsed only then; JSON may escape the slash. Arguments of tools may contain it too. */
const LIKE_A_BOUND_METHOD = /"method"\s*:\s*"(?:resources\\?\/(?:un)?subscribe|logging\\?\/setLevel)"/
const UNBOUND: Binding = { bound: false, repeatable: false }

/** Name of a replica in signed ids: its pod's address and port, without dots. */
export function ownerAt(address: string, port: number): string {
  return `${address.replaceAll('.', '_')}:${port}`
}

/** The origin that an owner's name stands for; undefined for any other name. */
export function originOf(owner: string): string | undefined {
  const end = owner.lastIndexOf(':')
  const address = owner.slice(0, end).replaceAll('_', '.')
  const port = Number(owner.slice(end + 1))
  if (isIP(address) === 0 || !(port > 0 && port < 65_536)) return undefined
  return originAt(address, port)
}

export function originAt(address: string, port: number): string {
  return `http://${isIPv6(address) ? `[${address}]` : address}:${port}`
}

export function createOwners({ sessions, owner, clock }: OwnersOptions): Owners {
  const goneUntil = new BoundedMap<number>(MAX_GONE)
  const known = new Set<string>()
  let last: { config?: RouterConfig; keepsClients: boolean } = { keepsClients: false }

  /** Whether any server keeps state for its clients or users. Cached for each config because it is needed for every request. */
  function keepsClients(config: RouterConfig): boolean {
    if (last.config !== config)
      last = { config, keepsClients: config.servers.some(({ sessions }) => sessions !== 'shared') }
    return last.keepsClients
  }

  function locate(name: string, binding: Binding): Owner | undefined {
    const origin = name === owner ? undefined : originOf(name)
    if (origin === undefined) return undefined
    if (known.size < MAX_OTHERS) known.add(origin)
    return { origin, ...binding, isGone: (goneUntil.get(origin) ?? 0) > clock.elapsed() }
  }

  return {
    find(config, route, { method, headers, body }) {
      const asking = body === undefined ? undefined : sessions.ownerOfBody(body)
      if (asking !== undefined) {
        const asker = locate(asking, UNBOUND)
        // A closing replica still waits for the answer, and it may have restarted: no other replica can take the answer.
        return asker && { ...asker, isGone: false }
      }
      const id = headers['mcp-session-id']
      if (typeof id !== 'string' || id.startsWith(`${owner}.`)) return undefined
      const name = sessions.ownerOf(id)
      const found = name === undefined ? undefined : locate(name, bindingOf(method, body))
      return found?.bound || method === 'DELETE' || keepsActivatedTools(route) || keepsClients(config)
        ? found
        : undefined
    },
    others: () => [...known].filter(origin => (goneUntil.get(origin) ?? 0) <= clock.elapsed()),
    markGone(origin, how) {
      goneUntil.set(origin, clock.elapsed() + GONE_MS[how])
      known.delete(origin)
    },
  }
}

type Binding = Pick<Owner, 'bound' | 'repeatable'>

/** A batch is bound if any of its messages is, and may only be repeated if all of them may. */
function bindingOf(method: string, body: string | undefined): Binding {
  if (method === 'GET' || method === 'DELETE') return { bound: method === 'GET', repeatable: true }
  if (body === undefined || !LIKE_A_BOUND_METHOD.test(body)) return UNBOUND
  const messages = messagesOf(body)
  const isBound = (message: unknown) => isObject(message) && BOUND_METHODS.has(message.method)
  return { bound: messages.some(isBound), repeatable: messages.every(isBound) }
}

function messagesOf(body: string): unknown[] {
  // Invalid JSON is refused where the message is read.
  const parsed = tryParseJson(body)
  return Array.isArray(parsed) ? parsed : [parsed]
}

/** Tools that a client activates are kept for its session. */
function keepsActivatedTools(route: McpRoute): boolean {
  return route.kind === 'gateway' && route.profile === 'registry'
}
