/** The interface between the server side (eras, HTTP, sessions) and a gateway or a bridge, which implements it. */
import type { Profile } from '../../catalog/router-config.ts'
import type { JsonObject } from '../../json.ts'
import type { Caller } from '../caller.ts'
import type { Identity } from '../identity.ts'
import type { McpResponse, Notification, RequestId } from '../protocol/json-rpc.ts'
import type { Subscription } from '../upstream.ts'

/** A validated request of either era, in one shape: without the envelope of 2026-07-28. */
export type McpRequest = {
  id: RequestId
  method: string
  params: JsonObject
  route: McpRoute
  caller: Caller
  /** The request's body as received, to forward parts of it unchanged. Undefined if it was part of a batch. */
  text: string | undefined
}

export type McpRoute = { kind: 'gateway'; profile: Profile } | { kind: 'server'; server: string }

/**
 * Answers tools/*, resources/*, prompts/*, completion/* and all other methods except those that the server side answers itself:
 * initialize, server/discover, ping, logging/setLevel, resources/subscribe and unsubscribe, subscriptions/listen. The server side also
 * translates questions between the eras: a reply whose `resultType` is `input_required` becomes requests to a legacy caller, whose
 * answers reach the handler as a repeated request with `inputResponses` and `requestState` in its params.
 */
export type McpHandler = {
  handle(request: McpRequest): Promise<McpResponse>
  /** Forwards a notification of a client with a session to the server, such as roots/list_changed. */
  tell?(client: string, notification: Notification): void
  /**
   * Forwards updates of one resource, under the URI that was subscribed to, until `life.signal` aborts. Resolves with the upstream's answer.
   * Absent: no route declares `resources.subscribe`.
   */
  subscribe?(route: McpRoute, subscription: Subscription, life: SubscriptionLife): Promise<McpResponse>
  /** Deletes the state of a client that ended its session. Absent: there is none. */
  forget?(client: string): void
  /** What is declared to a caller for a route: capabilities, server info, instructions. Undefined: no such route. */
  describe(route: McpRoute, identity: Identity): RouteDescription | undefined
  /**
   * Reports changed lists with `tell` until `signal` aborts; may resolve earlier if nothing more will change. Called only for lists that
   * declare `listChanged`. Absent: no route declares it.
   */
  listen?(listening: Listening): Promise<void>
  /** The input schema of a tool listed on a route, to check `Mcp-Param-*` headers. Absent: no tool has such headers. */
  inputSchema?(route: McpRoute, tool: string, identity: Identity): JsonObject | undefined
}

/** How long a subscription lasts, and whose rights it has. */
export type SubscriptionLife = {
  /** Aborts when the subscription ends. */
  readonly signal: AbortSignal
  /** Who made the session's newest request, which may have fewer rights than who subscribed. Undefined: that credential has expired. */
  identity(): Identity | undefined
  /** Ends the subscription, because its caller may no longer read the resource. */
  end(): void
}

export type Listening = {
  route: McpRoute
  identity: Identity
  /** The listening client, if known. */
  client?: string
  signal: AbortSignal
  /** Sends `notifications/<list>/list_changed` if the caller asked for that list. */
  tell: (notification: Notification) => void
}

export type RouteDescription = {
  capabilities: JsonObject
  serverInfo: JsonObject
  instructions?: string
  /** `_meta` of the answers to initialize and server/discover. */
  meta?: JsonObject
}
