/** Which parts of a call reach the fixture on a path, as its tool `report` returns them. */
import { isObject, type JsonObject } from '../../core/json.ts'
import type { Revision } from './suite.ts'

export type Passed = { args: JsonObject; meta: JsonObject; headers: Record<string, string> }

const TRACE = {
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  tracestate: 'vendor=value',
  baggage: 'user=ada',
}
const SENT_META = {
  ...TRACE,
  'example.com/own': { deep: [1, 'two', null] },
  'example.com/big': 9007199254740991,
}
const ARGUMENTS = { region: 'us-west1', big: { list: [true, 1.5, 'ü'] } }

/** What arrives if nothing is between client and fixture. */
export const ALL: Passed = {
  args: ARGUMENTS,
  meta: SENT_META,
  headers: { ...TRACE, 'mcp-param-region': 'us-west1' },
}

/** Calls `report` once, with everything that should be passed on. */
export async function reportOn(url: string, revision: Revision): Promise<Passed> {
  const modern = revision === '2026-07-28'
  const envelope = modern
    ? {
        'io.modelcontextprotocol/protocolVersion': revision,
        'io.modelcontextprotocol/clientInfo': { name: 'passing', version: '1.0.0' },
        'io.modelcontextprotocol/clientCapabilities': {},
      }
    : {}
  const session = modern ? {} : await openSession(url, revision)
  const params = { name: 'report', arguments: ARGUMENTS, _meta: { ...SENT_META, ...envelope } }
  const response = await post(
    url,
    { jsonrpc: '2.0', id: 2, method: 'tools/call', params },
    {
      ...session,
      ...TRACE,
      'mcp-protocol-version': revision,
      'mcp-method': 'tools/call',
      'mcp-name': 'report',
      'mcp-param-region': ARGUMENTS.region,
    },
  )
  const { result } = await answerOf(response)
  if (!isObject(result)) throw new Error(`no result on ${url}`)
  const [content] = result.content as { text: string }[]
  return JSON.parse(content?.text ?? '{}')
}

async function openSession(url: string, revision: Revision): Promise<Record<string, string>> {
  const params = {
    protocolVersion: revision,
    capabilities: {},
    clientInfo: { name: 'passing', version: '1.0.0' },
  }
  const response = await post(url, { jsonrpc: '2.0', id: 1, method: 'initialize', params })
  await response.text()
  const session = { 'mcp-session-id': response.headers.get('mcp-session-id') ?? '' }
  const initialized = await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' }, session)
  await initialized.text()
  return session
}

function post(url: string, message: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify(message),
  })
}

async function answerOf(response: Response): Promise<JsonObject> {
  const text = await response.text()
  return JSON.parse(text.startsWith('{') ? text : (/^data: (\{.*)$/m.exec(text)?.[1] ?? '{}'))
}
