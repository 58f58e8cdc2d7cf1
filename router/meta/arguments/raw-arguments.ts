/** The text of a tool's arguments as the caller wrote it: sent on as it is, so that nothing of it is lost in being read. Pure. */
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import { sliceJson } from '../../../core/json-slice.ts'
import type { McpRequest } from '../../../core/mcp/server/handler.ts'

/** A call of a tool, in the arguments of a meta-tool, which may stand in its arguments once more. */
const DEEPEST = 3

/** Undefined where the arguments are not the very object that stood in the request: then they were mended, or came in a text. */
export function rawArguments(
  { text, params }: Pick<McpRequest, 'text' | 'params'>,
  args: JsonObject,
): string | undefined {
  const path = text === undefined ? undefined : pathTo(params, args, DEEPEST)
  return path && sliceJson(text as string, ['params', ...path])
}

function pathTo(holder: JsonObject, args: JsonObject, deepest: number): string[] | undefined {
  const inner: JsonValue | undefined = holder.arguments
  if (inner === args) return ['arguments']
  if (holder.args === args) return ['args']
  const path = isObject(inner) && deepest > 1 ? pathTo(inner, args, deepest - 1) : undefined
  return path && ['arguments', ...path]
}
