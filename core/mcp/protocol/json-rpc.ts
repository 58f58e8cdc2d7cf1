/** The JSON-RPC shapes that both sides of the protocol share. */
import type { JsonObject, JsonValue } from '../../json.ts'

export type RequestId = string | number

export type Notification = { method: string; params?: JsonObject }

/** A question to the client: elicitation/create, sampling/createMessage or roots/list. */
export type ServerRequest = { method: string; params?: JsonObject }

export type JsonRpcError = { code: number; message: string; data?: JsonValue }

/** The answer to a request. */
export type McpResponse =
  | {
      result: JsonObject
      /** The JSON text of `result` exactly as its server wrote it, if kept: forwarded without serializing again. */
      resultText?: string
      error?: undefined
    }
  | {
      error: JsonRpcError
      result?: undefined
      /** The scopes to request, if the caller's token lacks some: over HTTP, the response is then a challenge. */
      scopes?: readonly string[]
    }

/** A response with another result; passing the same object keeps `resultText`. */
export function withResult(response: McpResponse, result: JsonObject): McpResponse {
  return result === response.result ? response : { result }
}
