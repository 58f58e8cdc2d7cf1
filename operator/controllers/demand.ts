/** The routers' last reports on how much each server is used and what their calls wait for, added up over the gateways of a server. */
import type { ServerLoad } from '../plan/scale.ts'
import type { UserDemand } from '../plan/user-instances.ts'
import type { RouterLoad } from './router-report.ts'

/** A report still counts for this time after the next one was due: longer than reading one takes. */
const LATE_MS = 8_000

/** How a server is used through one gateway. */
type Use = {
  /** Running and waiting calls. */
  calls: number
  sessions: number
  /** When it was last used, in milliseconds since the epoch; undefined while it is in use. */
  usedAtMs: number | undefined
  /** Users whose calls wait for an instance. */
  waiting: string[]
  /** When the instance of each user was last used. */
  used: Map<string, number>
  /** Whether a call waits for the server itself, and not for the instance of a user. */
  isWanted: boolean
}
/** The reports of all routers of a gateway, added up. `isComplete`: every router has answered. */
type GatewayUse = { freshUntilMs: number; isComplete: boolean; servers: Map<string, Use> }

export class Demand {
  readonly #gateways = new Map<string, GatewayUse>()
  #listener: (server: string) => void = () => {}

  /** Calls `listener` with each server, `namespace/name`, whose use has changed. */
  onChange(listener: (server: string) => void): void {
    this.#listener = listener
  }

  /**
   * Stores the reports of all routers of a gateway; one is undefined if its router did not answer. The next reports come within `nextMs`.
   * `reports` is undefined if no server of the gateway needs them.
   */
  set(
    gateway: string,
    reports: readonly (RouterLoad | undefined)[] | undefined,
    now: number,
    nextMs = 0,
  ): void {
    const before = this.#gateways.get(gateway)
    const next = reports && sumOf(reports, now, nextMs)
    if (next) this.#gateways.set(gateway, next)
    else this.#gateways.delete(gateway)
    const [namespace] = gateway.split('/', 1)
    const names = new Set([...(before?.servers.keys() ?? []), ...(next?.servers.keys() ?? [])])
    // After the old reports expired, `of` answered that the use is not known: this changes now even if the use is the same.
    const wasExpired = before !== undefined && !isFresh(before, now)
    for (const name of names)
      if (wasExpired || digestOf(before, name) !== digestOf(next, name))
        this.#listener(`${namespace}/${name}`)
  }

  /** The use of a server at the gateways that select it. */
  of(server: string, gateways: readonly string[], now: number): ServerLoad {
    const { uses, isKnown } = this.#usesOf(server, gateways, now)
    const isUsed = uses.some(({ usedAtMs }) => usedAtMs === undefined)
    return {
      isKnown,
      isWanted: uses.some(({ isWanted }) => isWanted),
      calls: uses.reduce((sum, { calls }) => sum + calls, 0),
      sessions: uses.reduce((sum, { sessions }) => sum + sessions, 0),
      usedAtMs: isUsed ? undefined : Math.max(0, ...uses.map(({ usedAtMs = 0 }) => usedAtMs)),
    }
  }

  /** The use by each user of a server, at the gateways that select it. */
  ofUsers(server: string, gateways: readonly string[], now: number): UserDemand {
    const { uses, isKnown } = this.#usesOf(server, gateways, now)
    return {
      isKnown,
      waiting: [...new Set(uses.flatMap(({ waiting }) => waiting))].sort(),
      used: latest(uses.flatMap(({ used }) => [...used])),
    }
  }

  /** `isKnown`: every router of these gateways has reported the server lately. */
  #usesOf(server: string, gateways: readonly string[], now: number): { uses: Use[]; isKnown: boolean } {
    const name = server.split('/')[1] ?? ''
    const found = gateways.map(gateway => this.#gateways.get(gateway))
    return {
      uses: found.flatMap(one => one?.servers.get(name) ?? []),
      isKnown: found.every(one => one?.isComplete && isFresh(one, now) && one.servers.has(name)),
    }
  }
}

function isFresh({ freshUntilMs }: GatewayUse, now: number): boolean {
  return now < freshUntilMs
}

/** Adds up the reports of a gateway's routers. Routers report how long ago a server was used, and not when, since their clocks may differ. */
function sumOf(reports: readonly (RouterLoad | undefined)[], atMs: number, nextMs: number): GatewayUse {
  const servers = new Map<string, Use>()
  for (const report of reports) {
    const waitingCalls = Map.groupBy(report?.waiting ?? [], ({ server }) => server)
    for (const { name, active, waiting, held, sessions, idleMs, instances } of report?.servers ?? []) {
      const wanted = waitingCalls.get(name) ?? []
      add(servers, name, {
        calls: active + waiting + held,
        sessions,
        usedAtMs: idleMs === undefined ? undefined : atMs - idleMs,
        waiting: wanted.flatMap(({ instance }) => instance ?? []),
        used: new Map(Object.entries(instances).map(([user, idleMs]) => [user, atMs - idleMs])),
        isWanted: wanted.some(({ instance }) => instance === undefined),
      })
    }
  }
  const isComplete = reports.length > 0 && !reports.includes(undefined)
  return { freshUntilMs: atMs + nextMs + LATE_MS, isComplete, servers }
}

function add(servers: Map<string, Use>, name: string, use: Use): void {
  const found = servers.get(name)
  servers.set(
    name,
    found
      ? {
          calls: found.calls + use.calls,
          sessions: found.sessions + use.sessions,
          usedAtMs:
            found.usedAtMs === undefined || use.usedAtMs === undefined
              ? undefined
              : Math.max(found.usedAtMs, use.usedAtMs),
          waiting: [...found.waiting, ...use.waiting],
          used: latest([...found.used, ...use.used]),
          isWanted: found.isWanted || use.isWanted,
        }
      : use,
  )
}

/** The latest time of each user. */
function latest(uses: readonly (readonly [string, number])[]): Map<string, number> {
  const found = new Map<string, number>()
  for (const [user, atMs] of uses) found.set(user, Math.max(atMs, found.get(user) ?? 0))
  return found
}

/**
 * Differs if the use of a server has changed, apart from the times of last use: those change with every report, and the server controller,
 * which waits for a server to be idle, has a timer for that.
 */
function digestOf(gateway: GatewayUse | undefined, name: string): string {
  const { usedAtMs, used, ...use } = gateway?.servers.get(name) ?? {}
  return JSON.stringify([gateway?.isComplete, usedAtMs === undefined, [...(used?.keys() ?? [])].sort(), use])
}
