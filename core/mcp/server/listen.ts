/** Answers `subscriptions/listen` of the 2026 era: a stream of changed lists and updated resources. */
import { inTurns } from '../../async.ts'
import { isObject, type JsonObject, type JsonValue } from '../../json.ts'
import { changingLists, declares } from '../protocol/declares.ts'
import { INVALID_PARAMS, TRANSPORT_ERROR } from '../protocol/error-codes.ts'
import type { JsonRpcError, McpResponse, Notification } from '../protocol/json-rpc.ts'
import { META_SUBSCRIPTION_ID } from '../protocol/revisions.ts'
import { tooLongUri } from '../protocol/uri-limits.ts'
import type { Subscription } from '../upstream.ts'
import type { FrontClients } from './clients.ts'
import { atExpiry } from './expiry.ts'
import type { Listening, McpHandler, McpRequest } from './handler.ts'
import type { PostResponse } from './post-response.ts'
import { MAX_URIS } from './subscriptions.ts'

/** Concurrent subscribe requests of one stream. */
const MAX_CONCURRENT_SUBSCRIBES = 16

/** The lists (`tools`, `prompts`, `resources`) that declare `listChanged`; empty if the handler does not report changes. */
export function listsThatChange(handler: McpHandler, capabilities: JsonObject | undefined): string[] {
  return handler.listen ? changingLists(capabilities) : []
}

/** Whether resources can be subscribed to. */
export function canSubscribe(handler: McpHandler, capabilities: JsonObject | undefined): boolean {
  return handler.subscribe !== undefined && declares(capabilities?.resources, 'subscribe')
}

/** Acknowledges the lists and resources that can be reported, and resolves when nothing more will change: at once if there are none. */
export async function listen(
  handler: McpHandler,
  clients: FrontClients,
  { id, params, route, caller }: McpRequest,
  response: PostResponse,
): Promise<McpResponse> {
  const filter = readFilter(params.notifications)
  if (typeof filter === 'string') return { error: { code: INVALID_PARAMS, message: filter } }
  const { clock, streams, heartbeats, subscriptions, ending } = clients
  const { id: callerId } = caller.identity
  const refusal = streams.refusal(callerId)
  if (refusal !== undefined) return { error: noStream(refusal) }
  const leave = streams.reserve(callerId)
  const stopBeating = heartbeats.add(() => response.beat())
  const over = new AbortController()
  const cancelExpiry = atExpiry(clock, caller.identity, () => over.abort())
  const signal = AbortSignal.any([caller.signal, ending, over.signal])
  const subscriber = Symbol('stream')
  signal.addEventListener('abort', () => subscriptions.end(subscriber))
  try {
    const _meta = { [META_SUBSCRIPTION_ID]: id }
    const subscribe = (uri: string, onUpdate: Subscription['onUpdate']) =>
      subscriptions.subscribe(handler, route, subscriber, { uri, caller, onUpdate })
    const { identity } = caller
    await stream(filter, handler, { route, identity, signal, response }, _meta, subscribe)
    return { result: { _meta } }
  } finally {
    over.abort()
    cancelExpiry()
    stopBeating()
    leave()
  }
}

/** Subscribes, sends the acknowledgement, then reports changes until nothing more will change. `_meta`: added to each notification. */
async function stream(
  filter: Filter,
  handler: McpHandler,
  { route, identity, signal, response }: Omit<Listening, 'tell'> & { response: PostResponse },
  _meta: JsonObject,
  subscribe: (uri: string, onUpdate: Subscription['onUpdate']) => Promise<McpResponse>,
): Promise<void> {
  const declared = handler.describe(route, identity)?.capabilities
  const lists = listsThatChange(handler, declared).filter(list => filter.lists.has(list))
  const { tell, release } = holdNotifications(({ method, params }) =>
    response.notify({ method, params: { ...params, _meta: { ...metaOf(params), ..._meta } } }),
  )
  const wanted = canSubscribe(handler, declared) ? filter.uris : []
  const uris = await subscribeAll(wanted, async uri => !signal.aborted && !(await subscribe(uri, tell)).error)
  const notifications = acknowledged(lists, uris)
  response.notify({ method: 'notifications/subscriptions/acknowledged', params: { notifications, _meta } })
  release()
  if (lists.length > 0) await handler.listen?.({ route, identity, signal, tell: onlyLists(lists, tell) })
  if (uris.length > 0) await aborted(signal)
}

function noStream(refusal: string): JsonRpcError {
  return { code: TRANSPORT_ERROR, message: `${refusal}; try again later`, data: { retryable: true } }
}

/** Forwards changes of these lists, and nothing else. */
export function onlyLists(
  lists: readonly string[],
  tell: (notification: Notification) => void,
): (notification: Notification) => void {
  const methods = new Set(lists.map(list => `notifications/${list}/list_changed`))
  return notification => {
    if (methods.has(notification.method)) tell(notification)
  }
}

/** Holds notifications back until the acknowledgement is sent, which must be the first message. Keeps only what each reports. */
function holdNotifications(send: (notification: Notification) => void) {
  let waiting: Notification[] | undefined = []
  return {
    tell(notification: Notification): void {
      if (!waiting) send(notification)
      else if (waiting.length < MAX_URIS) {
        const { method, params } = notification
        waiting.push(params?.uri === undefined ? { method } : { method, params: { uri: params.uri } })
      }
    },
    release(): void {
      const held = waiting ?? []
      waiting = undefined
      for (const notification of held) send(notification)
    },
  }
}

function acknowledged(lists: readonly string[], uris: readonly string[]): JsonObject {
  const changed = Object.fromEntries(lists.map(list => [`${list}ListChanged`, true]))
  return uris.length > 0 ? { ...changed, resourceSubscriptions: [...uris] } : changed
}

type Filter = { lists: ReadonlySet<string>; uris: string[] }

/** The requested lists and URIs, or an error message. */
function readFilter(asked: JsonValue | undefined): Filter | string {
  if (!isObject(asked)) return "Invalid params: 'notifications' is required"
  const { resourceSubscriptions: uris = [] } = asked
  if (!Array.isArray(uris) || !uris.every(uri => typeof uri === 'string'))
    return "Invalid params: 'resourceSubscriptions' is not a list of URIs"
  if (uris.length > MAX_URIS) return `Invalid params: more than ${MAX_URIS} resource subscriptions`
  const tooLong = uris.map(tooLongUri).find(reason => reason !== undefined)
  if (tooLong !== undefined) return tooLong
  const lists = ['tools', 'prompts', 'resources'].filter(list => asked[`${list}ListChanged`] === true)
  return { lists: new Set(lists), uris: [...new Set(uris as string[])] }
}

/** Subscribes to the URIs with bounded concurrency; returns those that were accepted. */
async function subscribeAll(
  uris: readonly string[],
  subscribe: (uri: string) => Promise<boolean>,
): Promise<string[]> {
  const accepted = await inTurns(uris, MAX_CONCURRENT_SUBSCRIBES, subscribe)
  return uris.filter((_uri, at) => accepted[at])
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
}

function metaOf(params: JsonObject | undefined): JsonObject {
  return isObject(params?._meta) ? params._meta : {}
}
