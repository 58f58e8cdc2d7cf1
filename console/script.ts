/** Reads the answer to a script: its texts, the times of its calls, and the line where it failed. Pure. */
import type { ConsoleCall } from '../core/console/shapes.ts'
import { isObject, type JsonObject } from '../core/json.ts'

export type ScriptCall = { tool: string; outcome: string; atMs: number; ms: number }

/** `depth`: 1 for a call of a reviewed script that the script called. */
export type TimelineCall = ScriptCall & { depth: number }

export type ScriptReport = {
  /** Id of the run, which calls in the log refer to. */
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

const META_KEY = 'portolan.dev/script'
const MAX_CALLS = 200
const FAILED_LINE = /^ {2}line (\d{1,6})(?:, column \d+)?:/m

/** Reads the result of a meta-tool that runs scripts. */
export function reportOf({ content, isError, _meta: meta }: JsonObject): ScriptReport {
  const texts = Array.isArray(content)
    ? content.flatMap(part => (isObject(part) && typeof part.text === 'string' ? [part.text] : []))
    : []
  const run = isObject(meta) && isObject(meta[META_KEY]) ? meta[META_KEY] : {}
  const failed = isError === true
  const line = failed ? FAILED_LINE.exec(texts[0] ?? '')?.[1] : undefined
  return {
    ...(typeof run.id === 'string' && { id: run.id }),
    texts,
    failed,
    ...(line !== undefined && { line: Number(line) }),
    calls: callsIn(run.calls),
    sandboxMs: numberIn(run.sandboxMs),
    keptTokens: numberIn(run.keptTokens),
  }
}

/** The calls in the order in which they began. The call of a reviewed script is followed by the calls that it made, which only the log has. */
export function timelineOf({ id, calls }: ScriptReport, log: readonly ConsoleCall[]): TimelineCall[] {
  const runs = log.filter(({ ran, script }) => ran && id !== undefined && script === id).toReversed()
  return calls
    .toSorted((a, b) => a.atMs - b.atMs)
    .flatMap(call => {
      const place = runs.findIndex(({ server, tool }) => `${server}:${tool}` === call.tool)
      const [run] = place < 0 ? [] : runs.splice(place, 1)
      return [{ ...call, depth: 0 }, ...(run ? innerCalls(call, run, log) : [])]
    })
}

function innerCalls(call: ScriptCall, run: ConsoleCall, log: readonly ConsoleCall[]): TimelineCall[] {
  const beganAt = (one: ConsoleCall) => one.at - one.totalMs
  return log
    .filter(({ script }) => script === run.ran?.id)
    .toReversed()
    .map(inner => ({
      tool: inner.tool === undefined ? inner.method : `${inner.server}:${inner.tool}`,
      outcome: inner.outcome,
      atMs: call.atMs + Math.max(0, beganAt(inner) - beganAt(run)),
      ms: inner.totalMs,
      depth: 1,
    }))
}

/** A gateway of an earlier version does not report when calls began. They are then drawn as if they began with the script. */
function callsIn(list: unknown): ScriptCall[] {
  if (!Array.isArray(list)) return []
  return list.slice(0, MAX_CALLS).flatMap(call => {
    if (!isObject(call) || typeof call.tool !== 'string') return []
    const { tool, outcome, atMs, ms } = call
    return [{ tool, outcome: String(outcome), atMs: numberIn(atMs) ?? 0, ms: numberIn(ms) ?? 0 }]
  })
}

function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}
