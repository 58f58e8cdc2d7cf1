/** A minimal MCP client: one POST per request, without a session. For benchmarks and for tests of the exact messages. */
import type { JsonObject } from '../../core/json.ts'

export type ToolAnswer = {
  content: { type: string; text: string }[]
  isError?: boolean
  [key: string]: unknown
}

/** A JSON-RPC request body of the 2025 era. */
export function requestBody(method: string, params: object, id = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

export const MCP_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2025-11-25',
}

/** Sends one request to `url`; returns its result, or throws with the message of its error. */
export async function request(
  url: string,
  method: string,
  params: object = {},
  signal?: AbortSignal,
  token?: string,
): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    method: 'POST',
    signal,
    headers: { ...MCP_HEADERS, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    body: requestBody(method, params),
  })
  const text = await response.text()
  const json = text.startsWith('{') ? text : (/^data: (\{.*)$/m.exec(text)?.[1] ?? '{}')
  const message = JSON.parse(json) as { result?: Record<string, unknown>; error?: { message: string } }
  if (!message.result) throw new Error(`${method}: HTTP ${response.status} ${message.error?.message ?? text}`)
  return message.result
}

export async function callTool(url: string, name: string, args: object): Promise<ToolAnswer> {
  return (await request(url, 'tools/call', { name, arguments: args })) as ToolAnswer
}

export type FoundTool = {
  tool_path: string
  description: string
  relevance_score: number
  input_schema?: JsonObject
}

/** Calls discover_mcp_tools; returns its parsed result, or throws with its message if it is an error. */
export async function discoverTools(
  url: string,
  query: string | string[],
): Promise<{ tools: FoundTool[]; total_found: number }> {
  const answer = await callTool(url, 'discover_mcp_tools', { query })
  const text = answer.content[0]?.text ?? '{}'
  if (answer.isError) throw new Error(text)
  return JSON.parse(text)
}
