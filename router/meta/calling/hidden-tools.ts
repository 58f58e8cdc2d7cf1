/**
 * Detects that a server may deny a tool because it hides it from clients that it cannot ask questions. The catalog has such tools, since
 * discovery declares all capabilities. Pure.
 */
import { isObject, type JsonObject } from '../../../core/json.ts'
import type { McpResponse } from '../../../core/mcp/protocol/json-rpc.ts'

const ASKABLE = ['elicitation', 'sampling', 'roots']
const MAX_DENIAL_CHARACTERS = 300
const DENIES_TOOL =
  /\b(unknown tool|no such tool|tool:?\s\S{1,200}\s(is |was )?(not found|unknown|disabled|not available|does(n.t| not) exist))/i

/** The capabilities for questions that the caller lacks, if that may be why the server denies a tool; otherwise empty. */
export function hiddenFor(answer: McpResponse, capabilities: JsonObject = {}): string[] {
  const text = textOf(answer)
  if (text.length > MAX_DENIAL_CHARACTERS || !DENIES_TOOL.test(text)) return []
  return ASKABLE.filter(name => !isObject(capabilities[name]))
}

/** The message of an error, or the first text of a result that is an error; empty for any other answer. */
function textOf({ error, result }: McpResponse): string {
  if (error) return error.message
  if (result.isError !== true || !Array.isArray(result.content)) return ''
  const [first] = result.content
  return isObject(first) && typeof first.text === 'string' ? first.text : ''
}
