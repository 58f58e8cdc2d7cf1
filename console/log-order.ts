/** Orders the log: newest first, but the calls of a script follow it in the order in which they were made. Pure. */
import type { ConsoleCall } from '../core/console/shapes.ts'

/** `depth`: 0, or the number of scripts that enclose the call. */
export type LogLine = { call: ConsoleCall; depth: number }

/** Calls of a script that is not in the list, such as one that still runs, keep their place. */
export function withScripts(newestFirst: readonly ConsoleCall[]): LogLine[] {
  const scripts = new Set(newestFirst.flatMap(({ ran }) => ran?.id ?? []))
  const madeBy = Map.groupBy(newestFirst, ({ script = '' }) => (scripts.has(script) ? script : ''))
  const linesOf = (calls: readonly ConsoleCall[], depth: number): LogLine[] =>
    calls.flatMap(call => {
      const inner = call.ran ? (madeBy.get(call.ran.id) ?? []) : []
      return [{ call, depth }, ...linesOf(inner.toReversed(), depth + 1)]
    })
  return linesOf(madeBy.get('') ?? [], 0)
}
