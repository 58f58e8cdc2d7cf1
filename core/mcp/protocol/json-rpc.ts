/** The JSON-RPC shapes that both sides of the protocol share. */
import type { JsonObject, JsonValue } from '../../json.ts'

export type RequestId = string | number

export type Notification = { method: string; params?: JsonObject }

/** What a server asks its client for: elicitation/create, sampling/createMessage, roots/list. */
export type ServerRequest = { method: string; params?: JsonObject }

export type JsonRpcError = { code: number; message: string; data?: JsonValue }

/** The answer to a request. */
export type McpResponse =
  | {
      result: JsonObject
      /** The JSON text of `result` exactly as its server wrote it, where it is at hand: written on as it is. */
      resultText?: string
      error?: undefined
    }
  | { error: JsonRpcError; result?: undefined }

/** A response with this result in place of its own; the very same result keeps its text. */
export function withResult(response: McpResponse, result: JsonObject): McpResponse {
  return result === response.result ? response : { result }
}
