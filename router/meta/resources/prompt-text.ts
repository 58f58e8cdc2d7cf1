/** Gets a prompt for an execute meta-tool and returns its messages as text. */
import { exposeToolResult } from '../../../core/catalog/expose.ts'
import { Fault } from '../../../core/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import type { McpResponse } from '../../../core/mcp/protocol/json-rpc.ts'
import { wantsInput } from '../../../core/mcp/protocol/message.ts'
import { answersIn, isForProgram } from '../calling/for-programs.ts'
import { forward } from '../calling/forward.ts'
import type { PromptTarget } from '../calling/targets.ts'
import type { Work } from '../meta-tool.ts'
import { cutTexts } from '../results/cut-texts.ts'
import { errorReply, refuse, withNotes } from '../wording/answers.ts'
import { faultSentence, refusalSentence } from '../wording/sentences.ts'
import { missingArguments } from './prompt-arguments.ts'

/**
 * Returns one text for each message, beginning with its role; other content follows unchanged after its role. `notes`: what was
 * corrected before; appended to the messages.
 */
export async function getPromptAsText(
  work: Work,
  target: PromptTarget,
  args: JsonObject,
  notes: readonly string[] = [],
): Promise<McpResponse> {
  const missing = missingArguments(target, args)
  if (missing) return refuse(work, missing)
  const { server, prompt } = target
  const { _meta: meta } = work.request.params
  const params = {
    name: prompt.prompt,
    arguments: args,
    ...(meta !== undefined && { _meta: meta }),
    ...answersIn(work.request.params),
  }
  const answer = await forward(work, { server, method: 'prompts/get', params })
  if (answer instanceof Fault)
    return errorReply(work, [faultSentence(answer, server, work.words), ...notes].join('\n'))
  if (answer.error && isForProgram(answer.error, params)) return answer
  if (answer.error)
    return errorReply(work, [refusalSentence(server, prompt.path, answer.error), ...notes].join('\n'))
  if (wantsInput(answer.result)) return answer
  const { messages, _meta } = answer.result
  const content = Array.isArray(messages) ? messages.flatMap(contentOf) : []
  const result = exposeToolResult(server.name, _meta === undefined ? { content } : { content, _meta })
  return { result: withNotes(work, cutTexts(work, result, server.limits.maxResultBytes), notes) }
}

/** The content of a message as that of a tool result. */
function contentOf(message: JsonValue): JsonValue[] {
  if (!isObject(message)) return []
  const items = Array.isArray(message.content) ? message.content : [message.content]
  const role = typeof message.role === 'string' ? `${message.role}: ` : ''
  return items.filter(isObject).flatMap(item => {
    if (item.type === 'text' && typeof item.text === 'string') return [{ ...item, text: role + item.text }]
    return role === '' ? [item] : [{ type: 'text', text: role.trimEnd() }, item]
  })
}
