/** The points of a range of time. Pure; apart from the charts, since the overview, too, is made of points. */
import type { ConsolePoint } from '../core/console/shapes.ts'

const HOUR_MS = 3_600_000
const SHORT_POINTS = 180
const HOUR_POINTS = 12
const DAY_POINTS = 288

/** The points of a range up to the last point: steps of 5 s for 15 minutes, of 5 min for longer ones. */
export function pointsOf(range: string, points: readonly ConsolePoint[], long: readonly ConsolePoint[]) {
  if (range === '24h') return lastOf(long, DAY_POINTS, 24 * HOUR_MS)
  return range === '1h' ? lastOf(long, HOUR_POINTS, HOUR_MS) : lastOf(points, SHORT_POINTS, HOUR_MS / 4)
}

/** Points can be much older than their number says: there are none of the time in which a machine sleeps or its gateway does not run. */
function lastOf(points: readonly ConsolePoint[], most: number, ms: number): readonly ConsolePoint[] {
  const begin = (points.at(-1)?.at ?? 0) - ms
  return points.slice(-most).filter(({ at }) => at > begin)
}
