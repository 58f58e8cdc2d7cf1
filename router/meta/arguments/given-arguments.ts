/**
 * The value given as a tool's arguments, with its JSON text, which is sent on unchanged: no number loses digits, and nothing is
 * serialized again. Pure.
 */
import type { JsonObject, JsonValue } from '../../../core/json.ts'
import { sliceJson } from '../../../core/json-slice.ts'
import type { McpRequest } from '../../../core/mcp/server/handler.ts'

export type Given<Value extends JsonValue | undefined = JsonValue | undefined> = {
  readonly value: Value
  /** The text that the value was parsed from; undefined if there is none, or if the value was changed since. */
  readonly text: string | undefined
}

export type GivenArguments = Given<JsonObject>

/** The text at `path` (whose first name is `params`) of a request; undefined if the text of the request is not available. */
export function textAt({ text }: McpRequest, path: readonly string[]): string | undefined {
  return text === undefined ? undefined : sliceJson(text, path)
}

/** Where a request for a tool has its arguments. */
export const ARGUMENTS_PATH: readonly string[] = ['params', 'arguments']
