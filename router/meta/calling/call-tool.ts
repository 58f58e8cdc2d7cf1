/** Calls a tool of a server for a gateway route: checks arguments, forwards, translates faults, rewrites what the result points at. */
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
import { errorReply, refuse, withNotes } from '../wording/answers.ts'
import {
  argumentsLine,
  argumentsRefusal,
  faultSentence,
  hiddenToolSentence,
  refusalSentence,
  stateLostSentence,
} from '../wording/sentences.ts'
import { isForProgram } from './for-programs.ts'
import { forward } from './forward.ts'
import { hiddenFor } from './hidden-tools.ts'
import type { ToolTarget } from './targets.ts'

/**
 * `params` of the request: all but name and arguments is passed on, progress token and trace context included.
 * `notes`: what was mended on the way here, said under the result.
 */
export async function callTool(
  work: Work,
  target: ToolTarget,
  given: GivenArguments,
  params: JsonObject,
  notes: readonly string[] = [],
): Promise<McpResponse> {
  const { server, tool } = target
  const checked = checkArguments(work.schemas, tool, given)
  if ('problems' in checked) {
    const refusal = argumentsRefusalOf(work, tool, given.value, checked.problems)
    return refuse(work, { refusal, outcome: 'rejected', server, tool: tool.tool })
  }
  const { value: args, text: argumentsText } = checked.args
  const sent: JsonObject = { ...params, name: tool.tool, arguments: args }
  // A task would belong to the server's session, and whoever asks for it later names no server.
  if (sent.task !== undefined) delete sent.task
  const answer = await forward(work, { server, method: 'tools/call', params: sent, tool, argumentsText })
  const said = [...notes, ...checked.notes]
  if (answer instanceof Fault)
    return errorReply(work, [faultSentence(answer, server, work.words), ...said].join('\n'))
  if (answer.error && isForProgram(answer.error, params)) return answer
  if (answer.error)
    return errorReply(
      work,
      [...rejection(work, target, answer.error, args), ...hidden(work, server, answer), ...said].join('\n'),
    )
  if (wantsInput(answer.result)) return answer
  const exposed = exposeToolResult(server.name, answer.result)
  const result = withNotes(work, cutTexts(work, exposed, server.limits.maxResultBytes), [
    ...said,
    ...hidden(work, server, answer),
    ...notesOn(work, target, exposed, args),
  ])
  return withResult(answer, result)
}

/** What the agent should know beyond the result: wrong arguments that explain an error, state that is gone. */
function notesOn(work: Work, target: ToolTarget, result: JsonObject, args: JsonObject): string[] {
  const { server } = target
  const stateLost = server.sessions === 'perClient' && work.request.caller.client === undefined
  return [
    ...(result.isError === true ? explanation(work, target, args) : []),
    ...(stateLost ? [stateLostSentence(server)] : []),
  ]
}

/** The server denies the tool, perhaps because it cannot ask this client. */
function hidden({ request }: Work, server: RouterServer, answer: McpResponse): string[] {
  const notAskable = hiddenFor(answer, request.caller.capabilities)
  return notAskable.length > 0 ? [hiddenToolSentence(server, notAskable)] : []
}

function rejection(work: Work, target: ToolTarget, error: JsonRpcError, args: JsonObject): string[] {
  const { server, tool } = target
  return [refusalSentence(server, tool.path, error), ...explanation(work, target, args)]
}

/** What of the arguments may have been the reason of an error: bounds and unknown names too, which stop no call. */
function explanation(work: Work, { tool }: ToolTarget, args: JsonObject): string[] {
  const { inputSchema } = tool.definition
  const line = `${argumentsLine(tool.path)}:`
  const problems = work.schemas.problems(inputSchema, args) ?? []
  const help = argumentHelp(inputSchema, args, problems, tokensBeside(work, line))
  return help === '' ? [] : [`${line}\n${help}`]
}

function argumentsRefusalOf(
  work: Work,
  { path, definition: { inputSchema } }: ToolRoute,
  args: JsonObject,
  problems: readonly ErrorObject[],
): string {
  const frame = (help: string) => argumentsRefusal(path, work.words, help)
  return frame(argumentHelp(inputSchema, args, problems, tokensBeside(work, frame(''))))
}

/** What the budget of an answer leaves beside a text. */
function tokensBeside({ catalog }: Work, text: string): number {
  return catalog.config.budget.responseTokens - estimateTokens(text)
}
