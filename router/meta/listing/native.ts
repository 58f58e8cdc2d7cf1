/** The protocol's own methods for resources, prompts and completions on a gateway route, with names that include the server. */
import { exposePromptResult, exposeReadResult } from '../../../core/catalog/expose.ts'
import { Fault } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/json.ts'
import { type McpResponse, withResult } from '../../../core/mcp/protocol/json-rpc.ts'
import { wantsInput } from '../../../core/mcp/protocol/message.ts'
import { type Forwarded, forward } from '../calling/forward.ts'
import { invalid, refuseNatively, unanswered, unknownResource } from '../calling/rpc-errors.ts'
import { findPrompt } from '../calling/targets.ts'
import type { Work } from '../meta-tool.ts'
import { readCompleted } from '../resources/completed.ts'
import { missingArguments } from '../resources/prompt-arguments.ts'
import { findResource } from '../resources/resource-target.ts'
import { readKeptNatively } from '../results/read-kept.ts'
import { gatewayLists, type ListName, listPage, sorted } from './lists.ts'

const PAGE_ITEMS = 200

/** A page of the items of all visible servers; the first page is serialized once for each catalog. */
export function listNatively(work: Work, list: Exclude<ListName, 'tools'>): McpResponse {
  const { catalog, once, request } = work
  const { cursor } = request.params
  const items = once(catalog, `all ${list}`, () => sorted(gatewayLists(once, catalog, list).flat()))
  const first = once(catalog, `first ${list}`, () => listPage(list, items, undefined, PAGE_ITEMS))
  const page = cursor === undefined ? first : listPage(list, items, cursor, PAGE_ITEMS)
  return page?.reply ?? invalid('cursor is not valid')
}

/** Answers resources/read. */
export async function readNatively(work: Work): Promise<McpResponse> {
  const { params } = work.request
  if (typeof params.uri !== 'string') return invalid('uri is missing')
  const kept = readKeptNatively(work, params.uri)
  if (kept) return kept
  const target = findResource(work.catalog, params.uri)
  if ('refusal' in target) return unknownResource(work, params.uri, target)
  const sent = { server: target.server, method: 'resources/read', params: { ...params, uri: target.uri } }
  return passOn(work, sent, exposeReadResult)
}

/** Answers prompts/get. */
export async function getPromptNatively(work: Work): Promise<McpResponse> {
  const { params } = work.request
  if (typeof params.name !== 'string') return invalid('name is missing')
  const target = findPrompt(work.catalog, params.name)
  if ('refusal' in target) return refuseNatively(work, target)
  const missing = missingArguments(target, params.arguments)
  if (missing) return refuseNatively(work, missing)
  const { server, prompt } = target
  return passOn(
    work,
    { server, method: 'prompts/get', params: { ...params, name: prompt.prompt } },
    exposePromptResult,
  )
}

/** Answers completion/complete, for an argument of a prompt or of a resource template. */
export async function completeNatively(work: Work): Promise<McpResponse> {
  const { params } = work.request
  const ref = readCompleted(params.ref)
  const method = 'completion/complete'
  if (ref?.type === 'ref/prompt') {
    const target = findPrompt(work.catalog, ref.name)
    if ('refusal' in target) return refuseNatively(work, target)
    const { server, prompt } = target
    return passOn(work, { server, method, params: { ...params, ref: { ...ref, name: prompt.prompt } } }, asIs)
  }
  if (ref?.type === 'ref/resource') {
    const target = findResource(work.catalog, ref.uri)
    if ('refusal' in target) return refuseNatively(work, target)
    const { server, uri } = target
    return passOn(work, { server, method, params: { ...params, ref: { ...ref, uri } } }, asIs)
  }
  return invalid('ref names neither a prompt nor a resource')
}

type Rewrite = (server: string, result: JsonObject) => JsonObject

/** Forwards a request and rewrites its result. The upstream's error is passed on unchanged; a Fault becomes an error that says what to do. */
async function passOn(work: Work, sent: Forwarded, rewrite: Rewrite): Promise<McpResponse> {
  const answer = await forward(work, sent)
  if (answer instanceof Fault) return unanswered(answer, sent.server, work.words)
  if (answer.error || wantsInput(answer.result)) return answer
  return withResult(answer, rewrite(sent.server.name, answer.result))
}

function asIs(_server: string, result: JsonObject): JsonObject {
  return result
}
