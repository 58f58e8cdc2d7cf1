/** Combines what the page knows of each router into what it shows of their gateway. Pure. */
import type {
  ConsoleCall,
  ConsolePoint,
  ConsoleServer,
  ConsoleState,
  Quantiles,
} from '../core/console/shapes.ts'
import { sum } from '../core/sum.ts'
import { type Known, listsVersion, MAX_CALLS, MAX_LONG, MAX_POINTS, NO_DATA } from './live.ts'

/** `routers`: by the names of their pods. Quantiles cannot be added up, so the slowest router's are shown. */
export function merged(routers: ReadonlyMap<string, Known>): Known {
  const all = [...routers].sort(([a], [b]) => (a < b ? -1 : 1))
  const known = all.map(([, one]) => one)
  const [first] = known
  if (!first) return NO_DATA
  if (known.length === 1) return { ...first, calls: withRouters(all) }
  return {
    state: stateOf(known.flatMap(({ state }) => state ?? [])),
    servers: serversOf(known),
    calls: withRouters(all)
      .sort((a, b) => b.at - a.at)
      .slice(0, MAX_CALLS),
    notShown: sum(known.map(({ notShown }) => notShown)),
    run: known.map(({ run }) => run).join(' '),
    points: pointsOf(known.map(({ points }) => points)).slice(-MAX_POINTS),
    long: pointsOf(known.map(({ long }) => long)).slice(-MAX_LONG),
  }
}

/** Identifies a call. Its number alone does not, since each router numbers its own calls. */
export function keyOf({ router = '', seq }: ConsoleCall): string {
  return router === '' ? `${seq}` : `${router} ${seq}`
}

/** The calls of all routers, each with the name of its router. */
function withRouters(all: readonly (readonly [string, Known])[]): ConsoleCall[] {
  return all.flatMap(([router, { calls }]) => calls.map(call => ({ ...call, router })))
}

function stateOf(states: readonly ConsoleState[]): ConsoleState | undefined {
  const [first] = states
  if (!first) return undefined
  const since = states.map(({ tokens }) => tokens.sinceStart)
  return {
    ...first,
    ready: states.every(({ ready }) => ready),
    whole: states.every(({ whole }) => whole),
    // Any router may answer the page, so what it has read is out of date until all routers serve the same catalog.
    catalogDigest: [...new Set(states.map(listsVersion))].sort().join(),
    search: states.find(({ search }) => search.semantic === 'off')?.search ?? first.search,
    tokens: {
      ...first.tokens,
      sinceStart: {
        direct: sum(since.map(({ direct }) => direct)),
        served: sum(since.map(({ served }) => served)),
        saved: sum(since.map(({ saved }) => saved)),
      },
    },
  }
}

/** All routers show the same servers, but each counts only its own calls. */
function serversOf(known: readonly Known[]): Known['servers'] {
  const first = known.find(({ servers }) => servers.size > 0)?.servers ?? new Map<string, ConsoleServer>()
  return new Map(
    [...first].map(([name, server]) => {
      const all = known.flatMap(({ servers }) => servers.get(name) ?? [])
      const worst = all.find(({ load }) => load.breaker.state !== 'closed') ?? server
      return [
        name,
        {
          ...server,
          load: {
            active: sum(all.map(({ load }) => load.active)),
            waiting: sum(all.map(({ load }) => load.waiting)),
            lastCallAt: maximum(all.map(({ load }) => load.lastCallAt)),
            breaker: worst.load.breaker,
          },
          recent: {
            calls: sum(all.map(({ recent }) => recent.calls)),
            errors: sum(all.map(({ recent }) => recent.errors)),
            p95Ms: maximum(all.map(({ recent }) => recent.p95Ms)),
          },
        },
      ]
    }),
  )
}

/** Adds up the points of the same span of time. */
function pointsOf(lists: readonly (readonly ConsolePoint[])[]): ConsolePoint[] {
  const spans = new Map<number, ConsolePoint>()
  for (const point of lists.flat()) {
    const span = Math.floor(point.at / point.spanMs)
    const before = spans.get(span)
    spans.set(span, before ? addedUp(before, point) : point)
  }
  return [...spans.values()].sort((a, b) => a.at - b.at)
}

function addedUp(a: ConsolePoint, b: ConsolePoint): ConsolePoint {
  const outcomes = new Set([...Object.keys(a.calls), ...Object.keys(b.calls)])
  const calls = [...outcomes].map(
    outcome => [outcome, (a.calls[outcome] ?? 0) + (b.calls[outcome] ?? 0)] as const,
  )
  return {
    at: Math.max(a.at, b.at),
    spanMs: a.spanMs,
    calls: Object.fromEntries(calls),
    routerMs: slower(a.routerMs, b.routerMs),
    serverMs: slower(a.serverMs, b.serverMs),
    direct: a.direct + b.direct,
    served: a.served + b.served,
    kept: (a.kept ?? 0) + (b.kept ?? 0),
    searches: a.searches + b.searches,
    searchMs: slower(a.searchMs, b.searchMs),
    active: a.active + b.active,
    waiting: a.waiting + b.waiting,
    open: Math.max(a.open, b.open),
  }
}

function slower(a: Quantiles | undefined, b: Quantiles | undefined): Quantiles | undefined {
  if (!a || !b) return a ?? b
  return { p50: Math.max(a.p50, b.p50), p95: Math.max(a.p95, b.p95) }
}

/** Undefined if no value is known. */
function maximum(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter(value => value !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}
