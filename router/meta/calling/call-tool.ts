/** Calls a server's tool for a gateway route: checks arguments, forwards, translates faults and rewrites URIs in the result. */
import type { ErrorObject } from 'ajv'
import { exposeToolResult } from '../../../core/catalog/expose.ts'
import type { RouterServer } from '../../../core/catalog/router-config.ts'
import { Fault } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/json.ts'
import { type JsonRpcError, type McpResponse, withResult } from '../../../core/mcp/protocol/json-rpc.ts'
import { wantsInput } from '../../../core/mcp/protocol/message.ts'
import { estimateTokens } from '../../catalog/estimate.ts'
import type { ToolRoute } from '../../catalog/server-part.ts'
import { argumentHelp } from '../arguments/argument-help.ts'
import { checkArguments } from '../arguments/check-arguments.ts'
import type { GivenArguments } from '../arguments/given-arguments.ts'
import type { Work } from '../meta-tool.ts'
import { cutTexts } from '../results/cut-texts.ts'
import { errorReply, type Refusal, refuse, withNotes } from '../wording/answers.ts'
import {
  argumentsLine,
  argumentsRefusal,
  faultSentence,
  hiddenToolSentence,
  refusalSentence,
  stateLostSentence,
} from '../wording/sentences.ts'
import { isForProgram } from './for-programs.ts'
import { type Forwarded, forward } from './forward.ts'
import { hiddenFor } from './hidden-tools.ts'
import { limitedCall } from './limited.ts'
import { joinNotes, NO_NOTES, type Notes } from './notes.ts'
import type { ToolTarget } from './targets.ts'

/**
 * Calls the tool. Of the request's `params` everything but name and arguments is passed on, including progress token and trace
 * context. `notes`: what was corrected before; appended to the result.
 */
export async function callTool(
  work: Work,
  target: ToolTarget,
  given: GivenArguments,
  params: JsonObject,
  notes: Notes = NO_NOTES,
): Promise<McpResponse> {
  const prepared = prepareCall(work, target, given, params)
  if ('refusal' in prepared) return refuse(work, prepared.refusal)
  const { sent, args } = prepared
  const corrections = joinNotes(notes, prepared.notes)
  const answer = await forward(work, sent)
  const { server } = target
  if (answer instanceof Fault)
    return errorReply(work, [faultSentence(answer, server, work.words), ...corrections].join('\n'))
  if (answer.error && isForProgram(answer.error, params)) return answer
  if (answer.error)
    return errorReply(
      work,
      [...rejection(work, target, answer.error, args), ...hidden(work, server, answer), ...corrections].join(
        '\n',
      ),
    )
  if (wantsInput(answer.result)) return answer
  const exposed = exposeToolResult(server.name, answer.result)
  const cut = cutTexts(work, exposed, server.limits.maxResultBytes)
  const about = joinNotes(hidden(work, server, answer), notesOn(work, target, exposed, args))
  return withResult(answer, withNotes(work, cut, joinNotes(corrections, about)))
}

/** What is sent, or why the call must not be made. `args`: the arguments as they are sent; `notes`: what was corrected in them. */
export type PreparedCall = { refusal: Refusal } | { sent: Forwarded; args: JsonObject; notes: Notes }

/** Checks the arguments, and counts the call against the limits. A refusal is not reported yet. */
export function prepareCall(
  work: Work,
  { server, tool }: ToolTarget,
  given: GivenArguments,
  params: JsonObject,
): PreparedCall {
  const checked = checkArguments(work.schemas, tool, given)
  if ('problems' in checked) {
    const refusal = argumentsRefusalOf(work, tool, given.value, checked.problems)
    return { refusal: { refusal, outcome: 'rejected', server, tool: tool.tool } }
  }
  if ('refusal' in checked)
    return { refusal: { refusal: checked.refusal, outcome: 'rejected', server, tool: tool.tool } }
  const limited = limitedCall(work, server, tool)
  if (limited) return { refusal: limited }
  const { value: args, text: argumentsText } = checked.args
  const sent: JsonObject = { ...params, name: tool.tool, arguments: args }
  // A task would belong to the server's session, and later requests about it do not name a server.
  if (sent.task !== undefined) delete sent.task
  return {
    sent: { server, method: 'tools/call', params: sent, tool, argumentsText },
    args,
    notes: checked.notes,
  }
}

/** Notes for the agent besides the result: arguments that may explain an error, and state that was lost. */
function notesOn(work: Work, target: ToolTarget, result: JsonObject, args: JsonObject): Notes {
  const { server } = target
  const explained = result.isError === true ? explanation(work, target, args) : NO_NOTES
  const stateLost = server.sessions === 'perClient' && work.request.caller.client === undefined
  return stateLost ? [...explained, stateLostSentence(server)] : explained
}

/** A note for the agent if the server denies the tool, perhaps because it cannot ask this client. */
function hidden({ request }: Work, server: RouterServer, answer: McpResponse): Notes {
  const notAskable = hiddenFor(answer, request.caller.capabilities)
  return notAskable.length > 0 ? [hiddenToolSentence(server, notAskable)] : NO_NOTES
}

/** The lines of an answer to a call that the server refused with a JSON-RPC error. */
function rejection(work: Work, target: ToolTarget, error: JsonRpcError, args: JsonObject): string[] {
  const { server, tool } = target
  return [refusalSentence(server, tool.path, error), ...explanation(work, target, args)]
}

/** Arguments that may have caused an error, including violated bounds and unknown names, which do not stop a call. */
function explanation(work: Work, { tool }: ToolTarget, args: JsonObject): string[] {
  const { inputSchema } = tool.definition
  const line = `${argumentsLine(tool.path)}:`
  const problems = work.schemas.problems(inputSchema, args) ?? []
  const help = argumentHelp(inputSchema, args, problems, tokensBeside(work, line))
  return help === '' ? [] : [`${line}\n${help}`]
}

/** The refusal of arguments that violate the schema, with help as far as the budget allows. */
function argumentsRefusalOf(
  work: Work,
  { path, definition: { inputSchema } }: ToolRoute,
  args: JsonObject,
  problems: readonly ErrorObject[],
): string {
  const frame = (help: string) => argumentsRefusal(path, work.words, help)
  return frame(argumentHelp(inputSchema, args, problems, tokensBeside(work, frame(''))))
}

/** The answer's token budget minus the tokens of a text. */
function tokensBeside({ catalog }: Work, text: string): number {
  return catalog.config.budget.responseTokens - estimateTokens(text)
}
