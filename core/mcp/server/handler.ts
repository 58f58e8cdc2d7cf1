/** The seam between the protocol front (eras, HTTP, sessions) and what a gateway or a bridge answers. */
import type { Profile } from '../../catalog/router-config.ts'
import type { JsonObject } from '../../json.ts'
import type { Caller } from '../caller.ts'
import type { McpResponse, Notification, RequestId } from '../protocol/json-rpc.ts'
import type { Subscription } from '../upstream.ts'

/** A request of either era, checked by the server side: of the same shape, with the era's own metadata taken off. */
export type McpRequest = {
  id: RequestId
  method: string
  params: JsonObject
  route: McpRoute
  caller: Caller
  /** The body that the request stood in alone, as it came: for what must be passed on to the letter. */
  text: string | undefined
}

export type McpRoute = { kind: 'gateway'; profile: Profile } | { kind: 'server'; server: string }

/**
 * Answers tools/*, resources/*, prompts/*, completion/* and what else is the server's; the front answers initialize, server/discover,
 * ping, logging/setLevel, resources/subscribe and unsubscribe, subscriptions/listen itself, and bridges questions between the eras: a
 * reply whose `resultType` is `input_required` becomes requests to a legacy caller, whose answers come as a repeated request with
 * `inputResponses` and `requestState` in its params.
 */
export type McpHandler = {
  handle(request: McpRequest): Promise<McpResponse>
  /** A notification of a client with a session that is for the server, such as roots/list_changed. */
  tell?(client: string, notification: Notification): void
  /**
   * Passes on updates of one resource, under the URI that was subscribed to, until `signal` aborts; replies once it is taken on. Absent:
   * no route declares `resources.subscribe`.
   */
  subscribe?(route: McpRoute, subscription: Subscription, signal: AbortSignal): Promise<McpResponse>
  /** A client ended its session. Absent: nothing is kept for one. */
  forget?(client: string): void
  /** What the front declares for a route: capabilities, server info, instructions. Undefined: no such route. */
  describe(route: McpRoute): RouteDescription | undefined
  /**
   * Tells of changed lists, with `tell`, until `signal` aborts or there is nothing more to tell. Asked only for lists whose capability
   * says `listChanged`. Absent: no route declares any.
   */
  listen?(listening: Listening): Promise<void>
  /** The input schema of a tool that is listed on a route: the front checks `Mcp-Param-*` headers against it. Absent: none declares any. */
  inputSchema?(route: McpRoute, tool: string): JsonObject | undefined
}

export type Listening = {
  route: McpRoute
  /** Who listens, where that is known. */
  client?: string
  signal: AbortSignal
  /** Sends `notifications/<list>/list_changed`, where the caller asked for that list. */
  tell: (notification: Notification) => void
}

export type RouteDescription = {
  capabilities: JsonObject
  serverInfo: JsonObject
  instructions?: string
  /** `_meta` of the answers to initialize and server/discover. */
  meta?: JsonObject
}
