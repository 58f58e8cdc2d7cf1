/** Figures of the last half hour in steps of 5 s, and of the last day in steps of 5 min; in memory. */
import type { Clock } from '../../core/async.ts'
import type { ConsolePoint } from '../../core/console/shapes.ts'
import type { PoolMemberStatus } from '../upstream/pool-member.ts'
import { createSpread } from './spread.ts'

/** `most`: how many points are kept. */
const SHORT = { spanMs: 5_000, most: 360 }
const LONG = { spanMs: 5 * 60_000, most: 288 }

export type Points = {
  /** Counts a call. `routerMs`: its time in the router; `serverMs`: its time at the server, 0 if it was not sent. */
  called(outcome: string, routerMs: number, serverMs: number): void
  searched(ms: number): void
  tokens(direct: number, served: number): void
  /** Tokens that a script kept from its agent. */
  kept(tokens: number): void
  /** The points that end after a time (milliseconds since the epoch), oldest first; `points`: the short ones. */
  since(at: number): { points: ConsolePoint[]; long: ConsolePoint[] }
  /** The listener is called after each new short point. Returns the function that removes it. */
  onPoint(listener: () => void): () => void
  close(): void
}

export function createPoints(clock: Clock, members: () => readonly PoolMemberStatus[]): Points {
  const series = [SHORT, LONG].map(step => ({ ...step, current: begin(), points: [] as ConsolePoint[] }))
  const [short, long] = series as [(typeof series)[0], (typeof series)[0]]
  const listeners = new Set<() => void>()
  const each = (add: (current: Current) => void) => {
    for (const { current } of series) add(current)
  }
  let endedAt = clock.now()
  let longEndsAt = endedAt + LONG.spanMs
  const finish = (target: typeof short, at: number): void => {
    target.points.push(pointOf(target.current, target.spanMs, at, members()))
    if (target.points.length > target.most) target.points.shift()
    target.current = begin()
  }
  const turn = () => {
    timer = clock.after(SHORT.spanMs, turn)
    endedAt = clock.now()
    finish(short, endedAt)
    if (endedAt >= longEndsAt) {
      finish(long, endedAt)
      longEndsAt = endedAt + LONG.spanMs
    }
    for (const listener of [...listeners]) listener()
  }
  let timer = clock.after(SHORT.spanMs, turn)
  return {
    called(outcome, routerMs, serverMs) {
      each(current => {
        current.calls.set(outcome, (current.calls.get(outcome) ?? 0) + 1)
        current.router.add(routerMs)
        if (serverMs > 0) current.server.add(serverMs)
      })
    },
    searched: ms => each(({ search }) => search.add(ms)),
    tokens: (direct, served) =>
      each(current => {
        current.direct += direct
        current.served += served
      }),
    kept: tokens =>
      each(current => {
        current.kept += tokens
      }),
    since: at => ({
      points: short.points.filter(point => point.at > at),
      long: long.points.filter(point => point.at > at),
    }),
    onPoint(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: () => timer.cancel(),
  }
}

function begin() {
  return {
    calls: new Map<string, number>(),
    router: createSpread(),
    server: createSpread(),
    search: createSpread(),
    direct: 0,
    served: 0,
    kept: 0,
  }
}

type Current = ReturnType<typeof begin>

function pointOf(
  { calls, router, server, search, direct, served, kept }: Current,
  spanMs: number,
  at: number,
  members: readonly PoolMemberStatus[],
): ConsolePoint {
  return {
    at,
    spanMs,
    calls: Object.fromEntries(calls),
    routerMs: router.quantiles(),
    serverMs: server.quantiles(),
    direct,
    served,
    ...(kept > 0 && { kept }),
    searches: search.count(),
    searchMs: search.quantiles(),
    active: members.reduce((sum, { active }) => sum + active, 0),
    waiting: members.reduce((sum, { waiting }) => sum + waiting, 0),
    open: members.filter(({ breaker }) => breaker.state !== 'closed').length,
  }
}
