/**
 * Binds the state of a call (`requestState`) and the ids of tasks to the caller that received them. They are encrypted in responses and
 * decrypted in requests, so that other callers cannot use them, and a server cannot read those of another server.
 */
import { createHash } from 'node:crypto'
import { canonicalJson, isObject, type JsonObject, type JsonValue } from '../../json.ts'
import type { Ask } from '../caller.ts'
import { INVALID_PARAMS, METHOD_NOT_FOUND } from '../protocol/error-codes.ts'
import type { JsonRpcError, McpResponse, Notification } from '../protocol/json-rpc.ts'
import type { McpRequest, McpRoute } from './handler.ts'
import { stableParams } from './held-call.ts'
import type { Signer } from './signed.ts'

const RELATED_TASK = 'io.modelcontextprotocol/related-task'
const TASKS = 'tasks/'

/** The request to send to the upstream, or the error if it is refused. */
export function openBound(request: McpRequest, signer: Signer): McpRequest | { error: JsonRpcError } {
  const { method, params, caller } = request
  if (method === 'tasks/list') return { error: NO_TASK_LIST }
  if (caller.era === 'legacy' && (params.requestState ?? params.inputResponses) !== undefined)
    return openTask({ ...request, params: withoutAnswers(params) }, signer)
  const state = params.requestState
  // States that we issued ourselves are checked where they are stored.
  if (state === undefined || isOwn(state, signer)) return openTask(request, signer)
  const requestState = signer.open(state, stateOf(request))
  if (requestState === undefined) return { error: INVALID_STATE }
  return openTask({ ...request, params: { ...params, requestState } }, signer)
}

/** The response to send to the caller. `request`: as the caller sent it. */
export function sealBound(request: McpRequest, reply: McpResponse, signer: Signer): McpResponse {
  if (reply.error) return reply
  const { requestState } = reply.result
  const result =
    typeof requestState !== 'string' || isOwn(requestState, signer)
      ? reply.result
      : { ...reply.result, requestState: signer.seal(requestState, stateOf(request)) }
  const sealed = sealTasks(request, result, signer)
  return sealed === reply.result ? reply : { result: sealed }
}

function openTask(request: McpRequest, signer: Signer): McpRequest | { error: JsonRpcError } {
  const { method, params, caller, route } = request
  const { notify, ask } = caller
  const binding = taskOf(placeOf(route), caller.identity.id)
  const sealing: Partial<McpRequest['caller']> = {
    notify: notify && (notification => notify(sealMessage(notification, signer, binding))),
    ask: ask && sealingAsk(ask, signer, binding),
  }
  const opened = withOpenedAnswers(params, signer, binding)
  const bound = { ...request, params: opened, caller: { ...caller, ...sealing } }
  if (!method.startsWith(TASKS)) return bound
  const taskId = signer.open(params.taskId, binding)
  return taskId === undefined
    ? { error: { code: INVALID_PARAMS, message: 'Task not found' } }
    : { ...bound, params: { ...opened, taskId } }
}

/** The params with the ids of tasks opened that are in answers to questions. */
function withOpenedAnswers(params: JsonObject, signer: Signer, binding: string): JsonObject {
  const { inputResponses } = params
  if (!isObject(inputResponses)) return params
  const open = (one: JsonValue | undefined) => (isObject(one) ? openRelated(one, signer, binding) : one)
  const opened = Object.fromEntries(Object.entries(inputResponses).map(([key, one]) => [key, open(one)]))
  return { ...params, inputResponses: opened }
}

/** Seals the ids of tasks in a notification or question. `binding`: see `taskOf`. */
export function sealMessage<T extends Notification>(message: T, signer: Signer, binding: string): T {
  const { method, params } = message
  const seal = method === 'notifications/tasks/status' ? sealIds : sealRelated
  return params ? { ...message, params: seal(params, signer, binding) } : message
}

/** Seals the ids of tasks in questions, and opens them in their answers. */
export function sealingAsk(ask: Ask, signer: Signer, binding: string): Ask {
  return async (question, signal) => {
    const answer = await ask(sealMessage(question, signer, binding), signal)
    if (answer.error) return answer
    return { result: openRelated(answer.result, signer, binding) }
  }
}

function sealTasks({ method, route, caller }: McpRequest, result: JsonObject, signer: Signer): JsonObject {
  const isTask = method.startsWith(TASKS) || result.resultType === 'task' || isObject(result.task)
  const isRelated = isObject(result._meta) && isObject(result._meta[RELATED_TASK])
  const { inputRequests } = result
  if (!isTask && !isRelated && !isObject(inputRequests)) return result
  const binding = taskOf(placeOf(route), caller.identity.id)
  const sealed = isTask ? sealIds(result, signer, binding) : sealRelated(result, signer, binding)
  return {
    ...sealed,
    ...(isObject(sealed.task) && { task: sealIds(sealed.task, signer, binding) }),
    ...(isObject(inputRequests) && { inputRequests: sealQuestions(inputRequests, signer, binding) }),
  }
}

function sealQuestions(questions: JsonObject, signer: Signer, binding: string): JsonObject {
  const seal = (one: JsonValue | undefined) =>
    isObject(one) && isObject(one.params) ? { ...one, params: sealRelated(one.params, signer, binding) } : one
  return Object.fromEntries(Object.entries(questions).map(([key, one]) => [key, seal(one)]))
}

/** Seals `taskId`, and the id of the related task in `_meta`. */
function sealIds(value: JsonObject, signer: Signer, binding: string): JsonObject {
  const { taskId } = value
  const related = sealRelated(value, signer, binding)
  return typeof taskId === 'string' ? { ...related, taskId: signer.seal(taskId, binding) } : related
}

function sealRelated(value: JsonObject, signer: Signer, binding: string): JsonObject {
  return withRelated(value, id => signer.seal(id, binding))
}

function openRelated(value: JsonObject, signer: Signer, binding: string): JsonObject {
  return withRelated(value, id => signer.open(id, binding) ?? id)
}

/** Replaces the id of the related task in `_meta`. */
function withRelated(value: JsonObject, idOf: (id: string) => string): JsonObject {
  const meta = value._meta
  const related = isObject(meta) ? meta[RELATED_TASK] : undefined
  if (!isObject(meta) || !isObject(related) || typeof related.taskId !== 'string') return value
  return { ...value, _meta: { ...meta, [RELATED_TASK]: { ...related, taskId: idOf(related.taskId) } } }
}

/** What a state is bound to: one call of one caller, which is repeated with the same params. */
function stateOf({ route, method, params, caller }: McpRequest): string {
  const call = createHash('sha256')
    .update(canonicalJson(stableParams(params)))
    .digest('base64url')
  return ['state', caller.identity.id, placeOf(route), method, call].join('\n')
}

/** What the id of a task is bound to. `place`: that of its route. */
export function taskOf(place: string, identityId: string): string {
  return ['task', identityId, place].join('\n')
}

export function placeOf(route: McpRoute): string {
  return route.kind === 'server' ? `server ${route.server}` : route.profile
}

function isOwn(state: JsonValue, signer: Signer): boolean {
  return (signer.readMark('state', state) ?? signer.readMark('again', state)) !== undefined
}

/** The 2025 era has no such params: its clients are asked on streams. */
function withoutAnswers({ requestState: _, inputResponses: __, ...params }: JsonObject): JsonObject {
  return params
}

const INVALID_STATE: JsonRpcError = {
  code: INVALID_PARAMS,
  message: 'requestState is not valid; call the tool again.',
  data: { reason: 'invalid_request_state' },
}
const NO_TASK_LIST: JsonRpcError = {
  code: METHOD_NOT_FOUND,
  message: 'tasks/list is not served here: the server cannot tell whose tasks it would list.',
}
