/** Calls a tool of a server for a gateway route: forwards, translates faults, rewrites what the result points at. */
import { exposeToolResult } from '../../core/catalog/expose.ts'
import { Fault } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { McpReply } from '../../core/mcp/front/handler.ts'
import type { JsonRpcError } from '../../core/mcp/upstream.ts'
import { errorReply } from './answers.ts'
import { argumentHelp } from './arguments/argument-help.ts'
import { forward } from './forward.ts'
import type { Work } from './meta-tool.ts'
import { cutTexts } from './results/cut-texts.ts'
import { faultSentence, refusalSentence, stateLostSentence } from './sentences.ts'
import type { ToolTarget } from './targets.ts'

/** `params` of the request: all but name and arguments is passed on, progress token and trace context included. */
export async function callTool(
  work: Work,
  target: ToolTarget,
  args: JsonObject,
  params: JsonObject,
): Promise<McpReply> {
  const { server, tool } = target
  const answer = await forward(work, {
    server,
    method: 'tools/call',
    params: { ...params, name: tool.tool, arguments: args },
    tool: tool.tool,
  })
  if (answer instanceof Fault) return errorReply(work, faultSentence(answer, server))
  if (answer.error) return errorReply(work, rejection(target, answer.error, args))
  const exposed = exposeToolResult(server.name, answer.result)
  const result = withNotes(
    cutTexts(exposed, server.limits.maxResultBytes),
    notesOf(work, target, exposed, args),
  )
  return result === answer.result ? answer : { result }
}

/** What the agent should know beyond the result: wrong arguments that explain an error, state that is gone. */
function notesOf(
  work: Work,
  { server, tool }: ToolTarget,
  result: JsonObject,
  args: JsonObject,
): string[] | undefined {
  const help = result.isError === true ? argumentHelp(tool.definition.inputSchema, args) : undefined
  const stateLost = server.sessions === 'perClient' && work.request.client === undefined
  if (help === undefined && !stateLost) return undefined
  return [...(help === undefined ? [] : [help]), ...(stateLost ? [stateLostSentence(server)] : [])]
}

function rejection({ server, tool }: ToolTarget, error: JsonRpcError, args: JsonObject): string {
  const help = argumentHelp(tool.definition.inputSchema, args)
  const sentence = refusalSentence(server, tool.path, error)
  return help ? `${sentence}\n${help}` : sentence
}

function withNotes(result: JsonObject, notes: readonly string[] | undefined): JsonObject {
  if (notes === undefined || !Array.isArray(result.content)) return result
  return { ...result, content: [...result.content, ...notes.map(text => ({ type: 'text', text }))] }
}
