/** Reads a resource for an execute meta-tool and for read_mcp_resource, never from a cache, or the next part of a cut result. */
import { exposeReadResult } from '../../../core/catalog/expose.ts'
import { exposedUri } from '../../../core/catalog/names.ts'
import { Fault } from '../../../core/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import type { McpResponse } from '../../../core/mcp/protocol/json-rpc.ts'
import { wantsInput } from '../../../core/mcp/protocol/message.ts'
import { answersIn, isForProgram } from '../calling/for-programs.ts'
import { forward } from '../calling/forward.ts'
import type { Work } from '../meta-tool.ts'
import { cutTexts } from '../results/cut-texts.ts'
import { readKept } from '../results/read-kept.ts'
import { errorReply, refuse } from '../wording/answers.ts'
import { faultSentence, refusalSentence } from '../wording/sentences.ts'
import { findResource } from './resource-target.ts'

/** `uri`: of a resource in any form, or a handle. */
export async function readAsText(work: Work, uri: string): Promise<McpResponse> {
  const kept = readKept(work, uri)
  if (kept) return kept
  const target = findResource(work.catalog, uri)
  if ('refusal' in target) return refuse(work, target)
  const { server } = target
  const { _meta: meta } = work.request.params
  const params = {
    uri: target.uri,
    ...(meta !== undefined && { _meta: meta }),
    ...answersIn(work.request.params),
  }
  const answer = await forward(work, { server, method: 'resources/read', params })
  if (answer instanceof Fault) return errorReply(work, faultSentence(answer, server, work.words))
  if (answer.error && isForProgram(answer.error, params)) return answer
  if (answer.error) return errorReply(work, refusalSentence(server, uri, answer.error))
  if (wantsInput(answer.result)) return answer
  const { contents, _meta } = exposeReadResult(server.name, answer.result)
  const content = Array.isArray(contents)
    ? contents.filter(isObject).map(item => contentOf(item, exposedUri(server.name, target.uri)))
    : []
  const result: JsonObject = _meta === undefined ? { content } : { content, _meta }
  return {
    result: target.uri.startsWith('ui://') ? result : cutTexts(work, result, server.limits.maxResultBytes),
  }
}

/** Converts text to text content with its `_meta`, and binary data to an embedded resource with all its fields. `asked`: its URI if it has none. */
function contentOf(item: JsonObject, asked: string): JsonValue {
  const { text, uri, _meta } = item
  if (typeof text === 'string') return { type: 'text', text, ...(_meta !== undefined && { _meta }) }
  return { type: 'resource', resource: { ...item, uri: uri ?? asked } }
}
