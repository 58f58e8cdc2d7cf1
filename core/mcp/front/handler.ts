/** The seam between the protocol front (eras, HTTP, sessions) and what a gateway or a bridge answers. */
import type { Profile } from '../../catalog/router-config.ts'
import type { JsonObject, JsonValue } from '../../json.ts'
import type { JsonRpcError } from '../upstream.ts'

/** A request of either era, already checked by the front: same shape, era's metadata taken off. */
export type McpRequest = {
  method: string
  params: JsonObject
  route: McpRoute
  /** Key of the downstream session or authenticated subject; absent for callers that have neither. */
  client?: string
  /** Aborts when the caller goes away or cancels. */
  signal: AbortSignal
  /** Sends a notification, or a server's request with its id, ahead of the response. Absent where the caller cannot take any. */
  notify?: (notification: { method: string; params?: JsonObject; id?: JsonValue }) => void
}

export type McpRoute = { kind: 'gateway'; profile: Profile } | { kind: 'server'; server: string }

/** `resultText`, where present, is the JSON text of `result` and is written as it is. */
export type McpReply =
  | { result: JsonObject; resultText?: string; error?: undefined }
  | { error: JsonRpcError; result?: undefined }

/** Answers tools/*, resources/*, prompts/* and completion/*; the front answers initialize, server/discover and ping itself. */
export type McpHandler = {
  handle(request: McpRequest): Promise<McpReply>
  /** What a client with a session sends besides requests, as it came: notifications, and answers to a server's requests. */
  tell?(client: string, message: JsonObject): void
  /** A client ended its session. Absent: nothing is kept for one. */
  forget?(client: string): void
  /** What the front declares for a route: capabilities, server info, instructions. Undefined: no such route. */
  describe(route: McpRoute): RouteDescription | undefined
  /**
   * Tells of changed lists, with `tell`, until `signal` aborts or there is nothing more to tell; `beat` shows that the
   * stream is alive. Asked only for lists whose capability says `listChanged`. Absent: no route declares any.
   */
  listen?(listening: Listening): Promise<void>
  /** The input schema of a tool that is listed on a route: the front checks `Mcp-Param-*` headers against it. Absent: none declares any. */
  inputSchema?(route: McpRoute, tool: string): JsonObject | undefined
}

export type Listening = {
  route: McpRoute
  signal: AbortSignal
  /** Sends `notifications/<list>/list_changed`, where the caller asked for that list. */
  tell: (notification: { method: string; params?: JsonObject }) => void
  beat: () => void
}

export type RouteDescription = { capabilities: JsonObject; serverInfo: JsonObject; instructions?: string }
