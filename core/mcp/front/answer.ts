/** Answers one checked request of either era: what belongs to the protocol here, the rest by the handler. Never throws. */
import { isObject, type JsonObject, type JsonValue } from '../../json.ts'
import type { Log } from '../../log.ts'
import type { McpHandler, McpReply, McpRoute } from './handler.ts'
import type { InboundRequest } from './message.ts'
import { INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND } from './rejection.ts'
import {
  type CachePolicy,
  discoverResult,
  eraError,
  errorStatus,
  errorText,
  initializeResult,
  legacyResultText,
  modernResultText,
} from './reply.ts'
import { META_SUBSCRIPTION_ID } from './revisions.ts'

export type Notification = { method: string; params?: JsonObject; id?: JsonValue }

/** Who asks, and how to reach them; `notify` is absent where nothing can be sent before the answer. */
export type Call = {
  route: McpRoute
  client: string | undefined
  signal: AbortSignal
  notify?: (notification: Notification) => void
  beat?: () => void
}

export type Answer = { status: number; text: string }

/** Meta-tools are the same for everyone and hardly ever change. */
const META_TOOLS_CACHE: CachePolicy = { ttlMs: 5 * 60_000, cacheScope: 'public' }
const DISCOVER_CACHE: CachePolicy = { ttlMs: 60_000, cacheScope: 'private' }

export async function answer(
  options: { handler: McpHandler; log: Log },
  call: Call,
  message: InboundRequest,
): Promise<Answer> {
  const { handler, log } = options
  const { era, id, method } = message
  try {
    const reply = await (answerProtocol(handler, call, message) ?? handle(handler, call, message))
    if (reply.error)
      return { status: errorStatus(era, reply.error), text: errorText(id, eraError(era, reply.error)) }
    if (era === 'legacy') return { status: 200, text: legacyResultText(id, reply) }
    const serverInfo = handler.describe(call.route)?.serverInfo
    return {
      status: 200,
      text: modernResultText(id, method, reply, serverInfo, cachePolicy(call.route, method)),
    }
  } catch (error) {
    log.error({ err: error, method }, 'request failed unexpectedly')
    return { status: 200, text: errorText(id, { code: INTERNAL_ERROR, message: 'Internal error' }) }
  }
}

function handle(
  handler: McpHandler,
  { route, client, signal, notify }: Call,
  { method, params, takesLogs }: InboundRequest,
): Promise<McpReply> {
  const tell = takesLogs || !notify ? notify : withoutLogs(notify)
  return handler.handle({ method, params, route, client, signal, notify: tell })
}

function withoutLogs(notify: (notification: Notification) => void): (notification: Notification) => void {
  return notification => {
    if (notification.method !== 'notifications/message') notify(notification)
  }
}

/** What the front answers itself; undefined for what is the handler's. */
function answerProtocol(
  handler: McpHandler,
  call: Call,
  message: InboundRequest,
): McpReply | Promise<McpReply> | undefined {
  switch (message.method) {
    case 'ping':
      return message.era === 'legacy' ? { result: {} } : undefined
    case 'initialize':
    case 'server/discover': {
      const ours = message.method === 'initialize' ? 'legacy' : 'modern'
      const description = message.era === ours ? handler.describe(call.route) : undefined
      if (!description) return { error: { code: METHOD_NOT_FOUND, message: 'Method not found' } }
      const result =
        ours === 'legacy' ? initializeResult(message.params, description) : discoverResult(description)
      return { result }
    }
    case 'subscriptions/listen':
      return message.era === 'modern' ? listen(handler, call, message) : undefined
    default:
      return undefined
  }
}

/** Acknowledges what can be told of, and ends when the handler has nothing more to tell: at once where that is nothing. */
async function listen(
  handler: McpHandler,
  { route, signal, notify = () => {}, beat = () => {} }: Call,
  { id, params }: InboundRequest,
): Promise<McpReply> {
  const asked = params.notifications
  if (!isObject(asked)) {
    return { error: { code: INVALID_PARAMS, message: "Invalid params: 'notifications' is required" } }
  }
  const capabilities = handler.listen ? handler.describe(route)?.capabilities : undefined
  const lists = ['tools', 'prompts', 'resources'].filter(
    list => asked[`${list}ListChanged`] === true && declaresChanges(capabilities?.[list]),
  )
  const notifications = Object.fromEntries(lists.map(list => [`${list}ListChanged`, true]))
  const _meta = { [META_SUBSCRIPTION_ID]: id }
  notify({ method: 'notifications/subscriptions/acknowledged', params: { notifications, _meta } })
  const methods = new Set(lists.map(list => `notifications/${list}/list_changed`))
  const tell = ({ method, params }: Notification) => {
    if (methods.has(method)) notify({ method, params: { ...params, _meta } })
  }
  if (lists.length > 0) await handler.listen?.({ route, signal, tell, beat })
  return { result: { _meta } }
}

function declaresChanges(capability: JsonValue | undefined): boolean {
  return isObject(capability) && capability.listChanged === true
}

function cachePolicy(route: McpRoute, method: string): CachePolicy | undefined {
  if (method === 'server/discover') return DISCOVER_CACHE
  const isMetaToolList = method === 'tools/list' && route.kind === 'gateway' && route.profile !== 'direct'
  return isMetaToolList ? META_TOOLS_CACHE : undefined
}
