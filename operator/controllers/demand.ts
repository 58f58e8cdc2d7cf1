/** The routers' last reports on how much each server is used and what their calls wait for, added up over the gateways of a server. */
import type { ServerLoad } from '../plan/scale.ts'
import type { UserDemand } from '../plan/user-instances.ts'
import type { RouterLoad } from './router-report.ts'

/** Reports count for so long after the next ones are due: longer than these take. */
const LATE_MS = 8_000

type Use = {
  calls: number
  sessions: number
  usedAtMs: number | undefined
  /** Users whose calls wait for an instance, and when each was last used. */
  wished: string[]
  used: Map<string, number>
  isWanted: boolean
}
type Said = { freshUntilMs: number; isWhole: boolean; servers: Map<string, Use> }

export class Demand {
  readonly #said = new Map<string, Said>()
  #listener: (server: string) => void = () => {}

  /** Calls `listener` with each server, `namespace/name`, whose use has changed. */
  onChange(listener: (server: string) => void): void {
    this.#listener = listener
  }

  /**
   * Stores the reports of all routers of a gateway; undefined for a router that did not answer. The next ones come after `nextMs` at the latest.
   * Absent: no server of the gateway needs them.
   */
  set(
    gateway: string,
    reports: readonly (RouterLoad | undefined)[] | undefined,
    now: number,
    nextMs = 0,
  ): void {
    const before = this.#said.get(gateway)
    const said = reports && sumOf(reports, now, nextMs)
    if (said) this.#said.set(gateway, said)
    else this.#said.delete(gateway)
    const [namespace] = gateway.split('/', 1)
    const names = new Set([...(before?.servers.keys() ?? []), ...(said?.servers.keys() ?? [])])
    // Meanwhile the answer to `of` was "not known".
    const wasOld = before !== undefined && !isFresh(before, now)
    for (const name of names)
      if (wasOld || digestOf(before, name) !== digestOf(said, name)) this.#listener(`${namespace}/${name}`)
  }

  /** The use of a server at the gateways that select it. */
  of(server: string, gateways: readonly string[], now: number): ServerLoad {
    const name = server.split('/')[1] ?? ''
    const said = gateways.map(gateway => this.#said.get(gateway))
    const uses = said.flatMap(one => one?.servers.get(name) ?? [])
    const isUsed = uses.some(({ usedAtMs }) => usedAtMs === undefined)
    return {
      isKnown: said.every(one => one?.isWhole && isFresh(one, now) && one.servers.has(name)),
      isWanted: uses.some(({ isWanted }) => isWanted),
      calls: uses.reduce((sum, { calls }) => sum + calls, 0),
      sessions: uses.reduce((sum, { sessions }) => sum + sessions, 0),
      usedAtMs: isUsed ? undefined : Math.max(0, ...uses.map(({ usedAtMs = 0 }) => usedAtMs)),
    }
  }

  /** The use by each user of a server, at the gateways that select it. */
  ofUsers(server: string, gateways: readonly string[], now: number): UserDemand {
    const name = server.split('/')[1] ?? ''
    const said = gateways.map(gateway => this.#said.get(gateway))
    const uses = said.flatMap(one => one?.servers.get(name) ?? [])
    return {
      isKnown: said.every(one => one?.isWhole && isFresh(one, now) && one.servers.has(name)),
      wished: [...new Set(uses.flatMap(({ wished }) => wished))].sort(),
      used: latest(uses.flatMap(({ used }) => [...used])),
    }
  }
}

function isFresh({ freshUntilMs }: Said, now: number): boolean {
  return now < freshUntilMs
}

/** Routers report how long ago a server was used, and not when, since their clocks may differ. */
function sumOf(reports: readonly (RouterLoad | undefined)[], atMs: number, nextMs: number): Said {
  const servers = new Map<string, Use>()
  for (const report of reports) {
    const wishes = Map.groupBy(report?.waiting ?? [], ({ server }) => server)
    for (const { name, active, waiting, held, sessions, idleMs, instances } of report?.servers ?? []) {
      const wanted = wishes.get(name) ?? []
      add(servers, name, {
        calls: active + waiting + held,
        sessions,
        usedAtMs: idleMs === undefined ? undefined : atMs - idleMs,
        wished: wanted.flatMap(({ instance }) => instance ?? []),
        used: new Map(Object.entries(instances).map(([user, idleMs]) => [user, atMs - idleMs])),
        isWanted: wanted.some(({ instance }) => instance === undefined),
      })
    }
  }
  const isWhole = reports.length > 0 && !reports.includes(undefined)
  return { freshUntilMs: atMs + nextMs + LATE_MS, isWhole, servers }
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
          wished: [...found.wished, ...use.wished],
          used: latest([...found.used, ...use.used]),
          isWanted: found.isWanted || use.isWanted,
        }
      : use,
  )
}

function latest(uses: readonly (readonly [string, number])[]): Map<string, number> {
  const found = new Map<string, number>()
  for (const [user, atMs] of uses) found.set(user, Math.max(atMs, found.get(user) ?? 0))
  return found
}

/** Leaves out the time of the last use: whatever waits for a server to be idle has its own timer. */
function digestOf(said: Said | undefined, name: string): string {
  const { usedAtMs, used, ...use } = said?.servers.get(name) ?? {}
  return JSON.stringify([said?.isWhole, usedAtMs === undefined, [...(used?.keys() ?? [])].sort(), use])
}
