/** One call of a tool by a script: like a call by execute_mcp_tool, but with the result as a value. */
import { exposeToolResult } from '../../core/catalog/expose.ts'
import type { CodeConfig } from '../../core/catalog/router-config.ts'
import { Fault } from '../../core/errors.ts'
import type { JsonObject, JsonValue } from '../../core/json.ts'
import type { McpResponse } from '../../core/mcp/protocol/json-rpc.ts'
import { wantsInput } from '../../core/mcp/protocol/message.ts'
import { parseJson } from '../../core/parse-json.ts'
import { ScopesMissing } from '../access/missing-scopes.ts'
import type { GivenArguments } from '../meta/arguments/given-arguments.ts'
import { readArguments } from '../meta/arguments/read-arguments.ts'
import { prepareCall } from '../meta/calling/call-tool.ts'
import { findCalled } from '../meta/calling/find-called.ts'
import { forward, outcomeOf } from '../meta/calling/forward.ts'
import { heldRefusal, type ToolTarget } from '../meta/calling/targets.ts'
import type { Work } from '../meta/meta-tool.ts'
import { type Refusal, reportRefusal } from '../meta/wording/answers.ts'
import { faultSentence, refusalSentence } from '../meta/wording/sentences.ts'
import { shorten } from '../meta/wording/shorten.ts'
import { mayLearn } from './learned-shapes.ts'
import { closedToScripts } from './open-tools.ts'
import { textsOf, toolValue } from './result-value.ts'

/**
 * Why a script's call failed. `denied`: the call is not permitted: an access rule, `code.tools`, `code.destructive: Refuse` or missing scopes
 * forbid it, the tool is held, or its caller refused or could not be asked. `rejected`: the router refused it before it was sent, for another reason.
 */
export type FailureKind =
  | 'tool_error'
  | 'rejected'
  | 'timeout'
  | 'unavailable'
  | 'too_large'
  | 'denied'
  | 'cancelled'

export type InnerFailure = { message: string; kind: FailureKind; result?: JsonObject }

/** `tool`: the path of the tool that was found; `notes`: what was corrected. */
export type InnerOutcome = {
  tool?: string
  notes: readonly string[]
} & ({ value: JsonValue | undefined; result: JsonObject } | { failure: InnerFailure })

export type InnerCalls = {
  work: Work
  code: CodeConfig
  /** Resolves with undefined if the tool may be called, otherwise with the reason. Asks the caller if that is configured. Rejects only with the Fault of the caller's signal. */
  permit(target: ToolTarget, args: JsonObject): Promise<string | undefined>
  /** Asks the caller a server's questions, and repeats the call with the answers. */
  answerRounds(
    work: Work,
    first: JsonObject,
    again: (work: Work) => Promise<McpResponse>,
  ): Promise<McpResponse>
}

const MAX_MESSAGE_CHARACTERS = 2_000

/** `name`: of the tool, in any form that agents use. Failures are part of the outcome; rejects if `permit` does. */
export async function callInner(calls: InnerCalls, name: string, args: JsonValue): Promise<InnerOutcome> {
  const { work, code } = calls
  const called = findCalled(work, name)
  if ('refusal' in called)
    return refused(work, called, heldRefusal(work.catalog, name) ? 'denied' : undefined)
  const { target, notes } = called
  if ('prompt' in target) return refused(work, rejected(`${name} is a prompt: scripts call tools only.`))
  const { path: tool, definition } = target.tool
  const about = { server: target.server, tool: target.tool.tool }
  const closed = closedToScripts(code, target.server, target.tool, work.reviewed === true)
  if (closed !== undefined) return refused(work, { ...rejected(closed), ...about }, 'denied')
  const read = readArguments({ value: args, text: undefined }, {}, definition.inputSchema.properties)
  if (!read) return refused(work, { ...rejected(`The arguments of ${tool} are not an object.`), ...about })
  const refusal = await calls.permit(target, read.args.value)
  if (refusal !== undefined) return refused(work, { ...rejected(refusal), ...about }, 'denied')
  const outcome = await perform(calls, target, read.args)
  return { ...outcome, tool, notes: [...notes, ...read.notes, ...outcome.notes] }
}

/** Sends the call, has questions of the server answered, and reads the value of the result. */
async function perform(calls: InnerCalls, target: ToolTarget, given: GivenArguments): Promise<InnerOutcome> {
  const { work } = calls
  const { server, tool } = target
  try {
    const prepared = prepareCall(work, target, given, work.request.params)
    if ('refusal' in prepared) return refused(work, prepared.refusal)
    const { sent, notes } = prepared
    let answer = await forward(work, sent)
    if (!(answer instanceof Fault) && answer.result && wantsInput(answer.result))
      answer = await calls.answerRounds(work, answer.result, again => sendAgain(again, target, given))
    if (answer instanceof Fault)
      return failed(faultSentence(answer, server, work.words), kindOf(answer), notes)
    if (answer.error) return failed(refusalSentence(server, tool.path, answer.error), 'tool_error', notes)
    const result = exposeToolResult(server.name, answer.result)
    if (result.isError === true)
      return { notes, failure: { message: cut(textsOf(result)), kind: 'tool_error', result } }
    const outputSchema = tool.definition.outputSchema as JsonValue | undefined
    const value = server.endpoint.kind === 'scripts' ? scriptValue(result) : toolValue(result, outputSchema)
    if (outputSchema === undefined && mayLearn(work.catalog, server))
      work.scripts?.shapes.learn(tool.path, value)
    return { notes, result, value }
  } catch (error) {
    if (error instanceof ScopesMissing) return failed(error.message, 'denied', [])
    if (error instanceof Fault) return failed(faultSentence(error, server, work.words), kindOf(error), [])
    throw error
  }
}

/** The value of a reviewed script: its answer to a script begins with the JSON. The lines about its calls are for agents. */
function scriptValue({ content }: JsonObject): JsonValue | undefined {
  const json = textsOf({ content: Array.isArray(content) ? content.slice(0, 1) : [] })
  return json === '' ? undefined : (parseJson(json) as JsonValue)
}

/** Repeats a call to a server of the 2026 era, with the answers to its questions. */
async function sendAgain(work: Work, target: ToolTarget, given: GivenArguments): Promise<McpResponse> {
  const prepared = prepareCall(work, target, given, work.request.params)
  if ('refusal' in prepared) throw new Fault('upstream_rejected', prepared.refusal.refusal)
  const answer = await forward(work, prepared.sent)
  if (answer instanceof Fault) throw answer
  return answer
}

function refused(work: Work, refusal: Refusal, kind?: FailureKind): InnerOutcome {
  reportRefusal(work, refusal)
  const failure = kind ?? (refusal.outcome === 'unavailable' ? 'unavailable' : 'rejected')
  return failed(refusal.refusal, failure, [])
}

function rejected(refusal: string): Refusal {
  return { refusal, outcome: 'rejected' }
}

function failed(message: string, kind: FailureKind, notes: readonly string[]): InnerOutcome {
  return { notes, failure: { message: cut(message), kind } }
}

function cut(message: string): string {
  return shorten(message, MAX_MESSAGE_CHARACTERS)
}

/** The kind of failure that a Fault is to a script. */
export function kindOf(fault: Fault): FailureKind {
  const outcome = outcomeOf(fault)
  return outcome === 'ok' || outcome === 'upstream_error' ? 'unavailable' : outcome
}
