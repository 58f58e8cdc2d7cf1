/** The answer to a script's caller: first the value or the failure, then what the script logged, then the lines about its calls. */
import type { CodeConfig } from '../../core/catalog/router-config.ts'
import { reveal } from '../../core/hidden-characters.ts'
import type { JsonObject } from '../../core/json.ts'
import { tokenRoute, type Work } from '../meta/meta-tool.ts'
import { spelled } from '../meta/wording/profile-words.ts'
import { callsLine, counted, doneLine, largeText, logText, textOfValue, tokensOf } from './answer-text.ts'
import { failureText } from './failure-text.ts'
import { PART_BYTES } from './perform-request.ts'
import type { SandboxReport } from './sandbox-threads.ts'
import type { ScriptCalls } from './script-calls.ts'

export type ScriptAnswer = { result: JsonObject; tokens: number }

/** Key of the facts about a script in `_meta`. */
const SCRIPT = 'portolan.dev/script'
const MAX_LISTED_CALLS = 200
const NOTHING_RETURNED = 'The script returned nothing: end it with `return`.'

export type ScriptEnd = {
  report: SandboxReport
  source: string
  calls: ScriptCalls
  id: string
  /** Why the signal ended it; empty if it did not. */
  why: string
  /** Whether a script called it: that script gets the whole value, as JSON; empty: undefined. */
  isInner: boolean
}

/** Composes the answer and counts its tokens. A value above the budget of tokens is kept for later reading. */
export function answerOf(work: Work, code: CodeConfig, end: ScriptEnd): ScriptAnswer {
  const { report, calls, id } = end
  const { outcome, logged, sandboxMs } = report
  const isValue = outcome.kind === 'returned'
  const first = isValue
    ? valueText(work, code.resultTokens, end.isInner, outcome.json)
    : [failureText(outcome, end.source, code.limits, end.why), doneLine(calls.made)]
        .filter(Boolean)
        .join('\n')
  const lines = [
    isValue ? callsLine(calls.made, calls.toolsMs) : undefined,
    isValue && outcome.late > 0
      ? `The script did not await ${counted(outcome.late, 'call')}: Portolan waited for them.`
      : undefined,
    ...calls.notes,
  ].filter(line => line !== undefined)
  const texts = [first, logText(reveal(logged)), lines.length > 0 ? lines.join('\n') : undefined]
  const content = texts.filter(text => text !== undefined).map(text => ({ type: 'text', text }))
  const tokens = content.reduce((sum, { text }) => sum + tokensOf(text), 0)
  if (!end.isInner) work.observer.tokensServed(tokenRoute(work), isValue ? 'script' : 'error', tokens)
  const made = calls.made
    .slice(0, MAX_LISTED_CALLS)
    .map(({ tool, outcome, atMs, ms }) => ({ tool, outcome, atMs: Math.round(atMs), ms: Math.round(ms) }))
  const meta = { id, calls: made, sandboxMs: Math.round(sandboxMs), keptTokens: calls.takenTokens - tokens }
  return { tokens, result: { content, ...(!isValue && { isError: true }), _meta: { [SCRIPT]: meta } } }
}

/** A value larger than the budget is kept, and an agent is shown only its beginning. */
function valueText(work: Work, resultTokens: number, isInner: boolean, json: string | undefined): string {
  if (isInner) return json ?? ''
  if (json === undefined) return NOTHING_RETURNED
  const text = textOfValue(json)
  if (tokensOf(text) <= resultTokens) return text
  const { identity } = work.request.caller
  const kept = work.results?.keep(Buffer.from(text), 0, PART_BYTES, identity.id)
  return largeText(json, text, resultTokens, kept && spelled(work.words.readOn(kept.handle)))
}
