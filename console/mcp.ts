/** Sends requests to the gateway as an ordinary client of 2026-07-28: one POST each, without a session. */
import { isObject, type JsonObject } from '../core/json.ts'
import { createEventReader } from './sse.ts'

const VERSION = '2026-07-28'
const META = 'io.modelcontextprotocol/'
const CLIENT = { name: 'portolan-console', version: '1' }
/** Text that can be a header's value as it is. */
const PLAIN = /^[\x21-\x7E](?:[\t\x20-\x7E]*[\x21-\x7E])?$/

/** `base`: the URL path before `mcp`: empty, or with a slash at its end. */
export type Mcp = {
  base: string
  profile?: string
  credentials: Record<string, string>
  signal?: AbortSignal
}

/** The name of the client that the log shows for calls of this page. */
export const CLIENT_LABEL = `${CLIENT.name}/${CLIENT.version}`

/** Sends a request and resolves with its result. Throws an Error, with the gateway's message if it answered with an error. */
export async function request(method: string, params: JsonObject, options: Mcp): Promise<JsonObject> {
  const response = await post(method, params, options)
  return resultIn(await response.text(), response.status)
}

/** Calls `onUpdate` whenever a resource changes. Always rejects: if the signal aborts, the server refuses this, or the gateway ends the stream. */
export async function listen(uri: string, onUpdate: () => void, options: Mcp): Promise<never> {
  const params = { notifications: { resourceSubscriptions: [uri] } }
  const response = await post('subscriptions/listen', params, options)
  if (!response.headers.get('content-type')?.includes('event-stream') || !response.body) {
    resultIn(await response.text(), response.status)
    throw new Error('The server does not report changes of this resource.')
  }
  const events = createEventReader()
  const texts = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (let part = await texts.read(); !part.done; part = await texts.read())
    for (const { data } of events(part.value)) {
      const message: unknown = JSON.parse(data)
      if (isObject(message) && message.method === 'notifications/resources/updated') onUpdate()
    }
  throw new Error('The gateway no longer reports changes: watch the resource again.')
}

function post(
  method: string,
  params: JsonObject,
  { base, profile, credentials, signal }: Mcp,
): Promise<Response> {
  const meta = {
    [`${META}protocolVersion`]: VERSION,
    [`${META}clientInfo`]: CLIENT,
    [`${META}clientCapabilities`]: { elicitation: { form: {} } },
  }
  const name = method === 'resources/read' ? params.uri : params.name
  return fetch(`${base}mcp${profile === undefined ? '' : `/${profile}`}`, {
    method: 'POST',
    headers: {
      ...credentials,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': VERSION,
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': headerOf(name) }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
    signal,
  })
}

/** An answer is JSON, or the last message of an event stream. */
function resultIn(text: string, status: number): JsonObject {
  const last = text.startsWith('{') ? text : createEventReader()(`${text}\n\n`).at(-1)?.data
  const message: unknown = last === undefined ? undefined : JSON.parse(last)
  if (isObject(message) && isObject(message.result)) return message.result
  const error = isObject(message) && isObject(message.error) ? message.error.message : undefined
  throw new Error(typeof error === 'string' ? error : `The gateway answered with HTTP ${status}.`)
}

/** The parameters of a call of a tool in a profile; undefined if agents call tools only by scripts. */
export function callIn(
  profile: string,
  path: string,
  listedName: string,
  args: JsonObject,
): JsonObject | undefined {
  switch (profile) {
    case 'code':
      return undefined
    case 'search':
      return { name: 'mcp_execute_tool', arguments: { toolName: path, args } }
    case 'registry':
      return { name: 'execute', arguments: { tool: path, args } }
    case 'direct':
      return { name: listedName, arguments: args }
    default:
      return { name: 'execute_mcp_tool', arguments: { tool_path: path, arguments: args } }
  }
}

/** The name of the meta-tool that runs scripts in a profile. */
export function scriptToolIn(profile: string): string {
  return profile === 'search' ? 'mcp_run_script' : profile === 'registry' ? 'run' : 'run_mcp_script'
}

/** The parameters of a search in a profile; undefined if agents list all tools instead of searching. */
export function searchIn(profile: string, query: string, limit: number): JsonObject | undefined {
  switch (profile) {
    case 'search':
      return { name: 'mcp_search_tools', arguments: { query, limit } }
    case 'registry':
      return { name: 'discover', arguments: { query, limit } }
    case 'code':
      return { name: 'find_tools', arguments: { query, limit } }
    case 'direct':
      return undefined
    default:
      return { name: 'discover_mcp_tools', arguments: { query, limit } }
  }
}

/** A header value for any text (SEP-2243). */
function headerOf(text: string): string {
  if (PLAIN.test(text) && !text.startsWith('=?base64?')) return text
  const binary = Array.from(new TextEncoder().encode(text), byte => String.fromCharCode(byte)).join('')
  return `=?base64?${btoa(binary)}?=`
}
