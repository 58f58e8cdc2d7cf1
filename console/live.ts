/** Applies events of the gateway to what the page knows of it. Pure. */
import type {
  ConsoleCall,
  ConsoleEvents,
  ConsolePoint,
  ConsoleServer,
  ConsoleState,
} from '../core/console/shapes.ts'

export type Known = {
  state?: ConsoleState
  servers: ReadonlyMap<string, ConsoleServer>
  /** Of this run of the gateway, newest first. */
  calls: readonly ConsoleCall[]
  /** How many calls the gateway left out because there were too many. */
  notShown: number
  /** The id of this run of the gateway. */
  run: string
  /** Oldest first: the last half hour in steps of 5 s, the last day in steps of 5 min. */
  points: readonly ConsolePoint[]
  long: readonly ConsolePoint[]
}

export const NO_DATA: Known = { servers: new Map(), calls: [], notShown: 0, run: '', points: [], long: [] }

export const MAX_CALLS = 1_000
export const MAX_POINTS = 360
export const MAX_LONG = 288

/** Whether the gateway has code mode. */
export function runsScripts(state: ConsoleState | undefined): boolean {
  return state?.tokens.profiles.code !== undefined
}

/** Changes when a list that the page has read is out of date; empty before the first state. */
export function listsVersion(state: ConsoleState | undefined): string {
  if (!state) return ''
  const { tools, resources, templates } = state.totals
  // Routers of older versions send no digest.
  return state.catalogDigest ?? `${tools} ${resources} ${templates}`
}

/** Events with an unknown name, from a newer gateway, are ignored. */
export function applyEvent(known: Known, event: string, data: string): Known {
  switch (event) {
    case 'state':
      return { ...known, state: JSON.parse(data) as ConsoleEvents['state'] }
    case 'servers':
      return { ...known, servers: withServers(known.servers, JSON.parse(data)) }
    case 'calls':
      return withCalls(known, JSON.parse(data))
    case 'points':
      return withPoints(known, JSON.parse(data))
    default:
      return known
  }
}

function withServers(
  servers: Known['servers'],
  { whole, changed, gone }: ConsoleEvents['servers'],
): Known['servers'] {
  const next = new Map(whole ? [] : servers)
  for (const server of changed) next.set(server.name, server)
  for (const name of gone) next.delete(name)
  return next
}

/** A restarted gateway numbers its calls from the start, so its earlier calls are dropped. Known calls are not added twice. */
function withCalls(known: Known, { run, calls, notShown }: ConsoleEvents['calls']): Known {
  const before = run === known.run ? known.calls : []
  const newest = before[0]?.seq ?? 0
  const fresh = calls.filter(({ seq }) => seq > newest).reverse()
  const notShownBefore = run === known.run ? known.notShown : 0
  return {
    ...known,
    run,
    notShown: notShownBefore + notShown,
    calls: [...fresh, ...before].slice(0, MAX_CALLS),
  }
}

function withPoints(known: Known, { points, long }: ConsoleEvents['points']): Known {
  return {
    ...known,
    points: joined(known.points, points, MAX_POINTS),
    long: joined(known.long, long, MAX_LONG),
  }
}

/** Adds the points that are newer than the known ones, and keeps the newest `max`. */
function joined(before: readonly ConsolePoint[], fresh: readonly ConsolePoint[], max: number) {
  const last = before.at(-1)?.at ?? 0
  return [...before, ...fresh.filter(({ at }) => at > last)].slice(-max)
}
