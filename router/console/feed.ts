/** Collects the console's data from a running router: listens to its calls, and keeps the last ones and their figures. */
import type { Clock } from '../../core/async.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { RouterObserver } from '../observer.ts'
import type { PoolMemberStatus } from '../upstream/pool-member.ts'
import { type Calls, createCalls } from './calls.ts'
import { createPoints, type Points } from './points.ts'
import { createServerPast, type ServerPast } from './server-past.ts'

export type ConsoleFeed = Pick<
  RouterObserver,
  'called' | 'searched' | 'tokensDirect' | 'tokensServed' | 'scriptRan'
> & {
  calls: Calls
  points: Points
  past: ServerPast
  /** Call when a catalog replaces the last one. */
  swapped(catalog: Catalog): void
  close(): void
}

/** Outcomes that are not failures. */
const NO_FAILURES: ReadonlySet<string> = new Set(['ok', 'cancelled'])

export function createConsoleFeed(clock: Clock, members: () => readonly PoolMemberStatus[]): ConsoleFeed {
  const calls = createCalls(clock)
  const points = createPoints(clock, members)
  const past = createServerPast(clock)
  return {
    calls,
    points,
    past,
    called(record) {
      const { server, outcome, totalMs, upstreamMs } = record
      calls.called(record)
      points.called(outcome, Math.max(0, totalMs - upstreamMs), upstreamMs)
      if (server !== undefined) past.called(server, !NO_FAILURES.has(outcome), totalMs)
    },
    searched(durationMs, hits, by) {
      calls.searched(durationMs, hits, by)
      points.searched(durationMs)
    },
    scriptRan(record) {
      calls.scriptRan(record)
      points.kept(Math.max(0, record.keptTokens))
    },
    tokensDirect: (_route, tokens) => points.tokens(tokens, 0),
    tokensServed: (_route, _kind, tokens) => points.tokens(0, tokens),
    swapped: catalog => past.noticed(catalog.servers.values()),
    close: points.close,
  }
}
