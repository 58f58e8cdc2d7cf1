/** Reads from the answer to a script what is in it besides the value: when its calls ran, and where it failed. Pure. */
import type { ConsoleCall } from '../core/console/shapes.ts'
import { isObject, type JsonObject } from '../core/json.ts'

export type ScriptCall = { tool: string; outcome: string; atMs: number; ms: number }

/** `depth`: 1 for a call of a reviewed script that the script called. */
export type LaidCall = ScriptCall & { depth: number }

export type ScriptReport = {
  /** By which the log names it. */
  id?: string
  /** The value or the failure, what was logged, and the gateway's own lines: in this order, as agents get them. */
  texts: string[]
  failed: boolean
  /** The line that failed, from 1. */
  line?: number
  calls: ScriptCall[]
  sandboxMs?: number
  /** Tokens of results that the agent does not get. */
  keptTokens?: number
}

const UNDER = 'portolan.dev/script'
const MOST_CALLS = 200
const PLACE = /^ {2}line (\d{1,6})(?:, column \d+)?:/m

export function reportOf({ content, isError, _meta: meta }: JsonObject): ScriptReport {
  const texts = Array.isArray(content)
    ? content.flatMap(part => (isObject(part) && typeof part.text === 'string' ? [part.text] : []))
    : []
  const told = isObject(meta) && isObject(meta[UNDER]) ? meta[UNDER] : {}
  const failed = isError === true
  const line = failed ? PLACE.exec(texts[0] ?? '')?.[1] : undefined
  return {
    ...(typeof told.id === 'string' && { id: told.id }),
    texts,
    failed,
    ...(line !== undefined && { line: Number(line) }),
    calls: callsIn(told.calls),
    sandboxMs: numberIn(told.sandboxMs),
    keptTokens: numberIn(told.keptTokens),
  }
}

/** In the order in which they began; below the call of a reviewed script the calls that it made, which only the log knows. */
export function laidOut({ id, calls }: ScriptReport, log: readonly ConsoleCall[]): LaidCall[] {
  const runs = log.filter(({ ran, script }) => ran && id !== undefined && script === id).toReversed()
  return calls
    .toSorted((a, b) => a.atMs - b.atMs)
    .flatMap(call => {
      const place = runs.findIndex(({ server, tool }) => `${server}:${tool}` === call.tool)
      const [run] = place < 0 ? [] : runs.splice(place, 1)
      return [{ ...call, depth: 0 }, ...(run ? innerCalls(call, run, log) : [])]
    })
}

function innerCalls(call: ScriptCall, run: ConsoleCall, log: readonly ConsoleCall[]): LaidCall[] {
  const begun = (one: ConsoleCall) => one.at - one.totalMs
  return log
    .filter(({ script }) => script === run.ran?.id)
    .toReversed()
    .map(inner => ({
      tool: inner.tool === undefined ? inner.method : `${inner.server}:${inner.tool}`,
      outcome: inner.outcome,
      atMs: call.atMs + Math.max(0, begun(inner) - begun(run)),
      ms: inner.totalMs,
      depth: 1,
    }))
}

/** A gateway of an earlier version does not report when calls began; they are then drawn from the start. */
function callsIn(list: unknown): ScriptCall[] {
  if (!Array.isArray(list)) return []
  return list.slice(0, MOST_CALLS).flatMap(call => {
    if (!isObject(call) || typeof call.tool !== 'string') return []
    const { tool, outcome, atMs, ms } = call
    return [{ tool, outcome: String(outcome), atMs: numberIn(atMs) ?? 0, ms: numberIn(ms) ?? 0 }]
  })
}

function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}
