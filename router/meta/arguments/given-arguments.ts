/**
 * What stands where a tool's arguments belong, with its JSON text: sent on as it was written, so that no number loses digits and no
 * call pays for writing it again. Pure.
 */
import type { JsonObject, JsonValue } from '../../../core/json.ts'
import { sliceJson } from '../../../core/json-slice.ts'
import type { McpRequest } from '../../../core/mcp/server/handler.ts'

export type Given<Value extends JsonValue | undefined = JsonValue | undefined> = {
  readonly value: Value
  /** The text that the value was parsed from; undefined where there is none, or where the value was changed since. */
  readonly text: string | undefined
}

export type GivenArguments = Given<JsonObject>

/** The text of what `path` leads to from the params of a request; undefined where the request's own text is not at hand. */
export function textAt({ text }: McpRequest, ...path: string[]): string | undefined {
  return text === undefined ? undefined : sliceJson(text, ['params', ...path])
}
