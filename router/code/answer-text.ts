/** The answer to an agent about its script: the value within a budget, what the script logged, and a line about its calls. Pure. */
import { hasManyValues } from '../../core/parse-json.ts'
import { estimateTokens } from '../catalog/estimate.ts'
import { shorten, shortenToTokens } from '../meta/wording/shorten.ts'
import { seconds } from './failure-text.ts'
import { shapeOf, shownShape } from './shape.ts'

/** One call of a script: the path of the tool, or the name as the script wrote it if there is no such tool. */
export type MadeCall = {
  tool: string
  outcome: string
  /** Milliseconds from the start of the script to the start of the call. */
  atMs: number
  ms: number
  /** Why it failed. */
  message?: string
}

export const LOG_TOKENS = 500
const MAX_TOOLS = 20
const MAX_FAILURES = 3
const MAX_FAILURE_CHARACTERS = 120
/** Share of the budget for the beginning of a large value. */
const FIRST_SHARE = 0.8
/** Long texts are estimated by their beginning. */
const SAMPLE_CHARACTERS = 16_384

/** The text of a JSON value; a string is shown without quotes. */
export function textOfValue(json: string | undefined): string {
  if (json === undefined) return 'undefined'
  return isString(json) ? JSON.parse(json) : json
}

function isString(json: string): boolean {
  return json.startsWith('"')
}

/** The text for a value above the budget (in tokens): its shape, unless it has too many values, and its beginning. `how`: how the agent reads all of it; undefined if it was not kept. */
export function largeText(json: string, text: string, budget: number, how: string | undefined): string {
  const isShaped = !isString(json) && !hasManyValues(json)
  const about = isShaped
    ? shownShape(shapeOf(JSON.parse(json)))
    : `A ${isString(json) ? 'text' : 'value'} of ${text.length} characters`
  const characters = Math.floor(text.length * Math.min(1, (budget * FIRST_SHARE) / tokensOf(text)))
  const first = text.slice(0, characters).replace(/[\uD800-\uDBFF]$/, '')
  const rest = how === undefined ? 'the rest is lost: return less' : `all of it, within 10 minutes: ${how}`
  return `${about}; the first ${first.length} of ${text.length} characters, ${rest}.\n${first}`
}

/** The estimated tokens of a text. */
export function tokensOf(text: string): number {
  if (text.length <= SAMPLE_CHARACTERS) return estimateTokens(text)
  return Math.ceil((estimateTokens(text.slice(0, SAMPLE_CHARACTERS)) * text.length) / SAMPLE_CHARACTERS)
}

/** What the script logged, shortened; undefined if it logged nothing. */
export function logText(logged: string): string | undefined {
  const text = logged.trimEnd()
  return text === '' ? undefined : `Logged: ${shortenToTokens(text, LOG_TOKENS)}`
}

/** Undefined without calls; otherwise such as `14 calls in 1.9 s: github:list_issues 2, jira:get_issue 12 (1 failed: jira:get_issue "Issue does not exist")`. */
export function callsLine(calls: readonly MadeCall[], ms: number): string | undefined {
  if (calls.length === 0) return undefined
  const failures = calls.filter(({ outcome }) => outcome !== 'ok')
  const shown = failures.slice(0, MAX_FAILURES).map(({ tool, message = '' }) => {
    return `${tool} ${JSON.stringify(shorten(message.split('\n', 1)[0] as string, MAX_FAILURE_CHARACTERS))}`
  })
  const more = failures.length > shown.length ? `, and ${failures.length - shown.length} more` : ''
  const failed = failures.length === 0 ? '' : ` (${failures.length} failed: ${shown.join(', ')}${more})`
  return `${counted(calls.length, 'call')} in ${seconds(ms)}: ${byTool(calls)}${failed}`
}

/** The line below a failure. Undefined without calls; otherwise such as `Calls until then: 3, github:list_issues 1, jira:create_issue 2 (done: they are not undone).` */
export function doneLine(calls: readonly MadeCall[]): string | undefined {
  const done = calls.filter(({ outcome }) => outcome === 'ok' || outcome === 'tool_error')
  if (calls.length === 0) return undefined
  const isDone =
    done.length > 0
      ? ` (${done.length === calls.length ? 'done' : `${done.length} done`}: they are not undone)`
      : ''
  return `Calls until then: ${calls.length}, ${byTool(calls)}${isDone}.`
}

/** `1 call`, `2 calls`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

function byTool(calls: readonly MadeCall[]): string {
  const groups = [...Map.groupBy(calls, ({ tool }) => tool)]
  const shown = groups.slice(0, MAX_TOOLS).map(([tool, made]) => `${tool} ${made.length}`)
  const more = groups.length > shown.length ? `, and ${groups.length - shown.length} more tools` : ''
  return `${shown.join(', ')}${more}`
}
