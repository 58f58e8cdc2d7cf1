/** Calls of several users at one gateway, each with their own token. */
import { isObject, type JsonObject } from '../../core/json.ts'
import { initialize, send } from '../front/access-router.ts'
import { streamed } from '../front/post.ts'

export type Answer = { text: string; isError: boolean; raw: string; messages: JsonObject[] }

/** The token of a user, long enough to be accepted. */
export function tokenOf(user: string): string {
  return `token-of-${user}-`.padEnd(40, '0')
}

/** Calls a tool through the gateway's own tool, over one POST. */
export async function callAs(
  origin: string,
  token: string | undefined,
  tool: string,
  args: JsonObject = {},
  { session, meta }: { session?: string; meta?: JsonObject } = {},
): Promise<Answer> {
  const message = {
    method: 'tools/call',
    params: {
      name: 'execute_mcp_tool',
      arguments: { tool_path: tool, arguments: args },
      ...(meta && { _meta: meta }),
    },
  }
  const headers = session === undefined ? undefined : { 'mcp-session-id': session }
  const { text: raw, status } = await send(origin, message, { token, headers })
  const messages = raw.startsWith('{') ? [JSON.parse(raw) as JsonObject] : streamed(raw)
  const { result } = messages.at(-1) ?? {}
  if (!isObject(result) || !Array.isArray(result.content))
    return { text: `${status} ${raw}`, isError: true, raw, messages }
  const text = result.content.map(item => (isObject(item) ? String(item.text) : '')).join('\n')
  return { text, isError: result.isError === true, raw, messages }
}

/** Begins a session of the 2025 era; returns its id. */
export async function beginAs(origin: string, token: string): Promise<string> {
  const { headers } = await send(origin, initialize, { token })
  return headers.get('mcp-session-id') ?? ''
}
