/** Names and attributes of the spans of one gateway: only known names, and nothing that an agent or a server wrote. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { LEGACY_HEADERS, legacy, post } from '../front/post.ts'
import { freePort } from '../support/free-port.ts'
import { scriptCommand } from '../support/manifests.ts'
import { type Collector, type ReceivedSpan, startCollector } from '../support/otlp.ts'
import { startTraced } from './gateways.ts'

const SECRET = 'hush-hush'

/** The spans of each of `REQUESTS`, in the order in which they ended. */
const received = new Map<string, ReceivedSpan[]>()
let collector: Collector
let session: string

const REQUESTS: Record<string, { path?: string; body: JsonObject }> = {
  search: { body: tool('discover_mcp_tools', { query: [`give back ${SECRET}`, 'greet'], limit: 3 }) },
  executed: { body: tool('execute_mcp_tool', { tool_path: 'mirror:mirror', arguments: { a: SECRET } }) },
  failed: { body: tool('execute_mcp_tool', { tool_path: 'mirror:mirror', arguments: { fail: true } }) },
  late: { body: tool('execute_mcp_tool', { tool_path: 'slow:mirror', arguments: { hang: true } }) },
  prompt: { body: tool('execute_mcp_tool', { tool_path: 'mirror:greet', arguments: {} }) },
  unknown: { body: tool(`unknown_${SECRET}`, {}) },
  direct: { path: '/mcp/direct', body: tool('mirror__mirror', {}) },
  single: { path: '/servers/mirror/mcp', body: tool('mirror', {}) },
  'single prompt': { path: '/servers/mirror/mcp', body: legacy('prompts/get', { name: 'greet' }) },
  'unknown prompt': { path: '/servers/mirror/mcp', body: legacy('prompts/get', { name: SECRET }) },
  completion: {
    path: '/servers/mirror/mcp',
    body: legacy('completion/complete', {
      ref: { type: 'ref/prompt', name: 'greet' },
      argument: { name: 'x', value: SECRET },
    }),
  },
  resource: {
    path: '/servers/mirror/mcp',
    body: legacy('resources/read', { uri: `file:///${SECRET}` }),
  },
  list: { body: legacy('tools/list', {}) },
  strange: { body: legacy(`strange/${SECRET}`, {}) },
}

function tool(name: string, args: JsonObject): JsonObject {
  return legacy('tools/call', { name, arguments: args })
}

before(async () => {
  collector = await startCollector()
  const away = { remote: { url: `http://127.0.0.1:${await freePort()}/mcp` } }
  const mirror = scriptCommand('test/trace/mirror.mjs')
  const servers = { mirror, slow: { ...mirror, limits: { callTimeout: '100ms' } }, away }
  const gateway = await startTraced({ after }, 'gateway', servers, collector)
  const origin = gateway.url.replace(/\/mcp$/, '')
  const opened = await post(gateway.url, legacy('initialize', INITIALIZE))
  session = opened.headers.get('mcp-session-id') ?? ''
  let count = 0
  const traces: Record<string, string> = {}
  for (const [name, { path = '/mcp', body }] of Object.entries(REQUESTS)) {
    const trace = String(++count).padStart(32, '0')
    traces[name] = trace
    const headers = { 'mcp-session-id': session, traceparent: `00-${trace}-00000000000000ff-01` }
    await post(`${origin}${path}`, body, { ...LEGACY_HEADERS, ...headers })
  }
  await gateway.end()
  for (const [name, trace] of Object.entries(traces))
    received.set(
      name,
      collector.spans.filter(({ traceId }) => traceId === trace),
    )
})
after(() => collector?.close())

const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
}

/** `kind name` of each span, followed by ` ! error` if it failed. */
function outlineOf(name: string): string[] {
  return (received.get(name) ?? []).map(({ kind, name, error, attributes }) =>
    error ? `${kind} ${name} ! ${attributes['error.type']}` : `${kind} ${name}`,
  )
}

const EXPECTED: Record<string, string[]> = {
  search: ['internal search', 'internal search', 'server tools/call discover_mcp_tools'],
  executed: ['client tools/call mirror', 'server tools/call mirror:mirror'],
  failed: ['client tools/call mirror ! tool_error', 'server tools/call mirror:mirror ! tool_error'],
  late: ['client tools/call mirror ! upstream_timeout', 'server tools/call slow:mirror ! tool_error'],
  prompt: ['client prompts/get greet', 'server tools/call mirror:greet'],
  unknown: ['server tools/call ! tool_error'],
  direct: ['client tools/call mirror', 'server tools/call mirror:mirror'],
  single: ['client tools/call mirror', 'server tools/call mirror:mirror'],
  'single prompt': ['client prompts/get greet', 'server prompts/get mirror:greet'],
  'unknown prompt': ['client prompts/get', 'server prompts/get'],
  completion: ['client completion/complete ! -32601', 'server completion/complete ! -32601'],
  resource: ['client resources/read ! -32601', 'server resources/read ! -32601'],
  list: ['server tools/list'],
  strange: ['server _OTHER ! -32601'],
}

for (const [name, spans] of Object.entries(EXPECTED))
  test(`the spans of a request: ${name}`, () => assert.deepEqual(outlineOf(name), spans))

test('the spans of a call say what was called, through which route and meta-tool, and at which server', () => {
  const [client, server] = received.get('executed') ?? []
  assert.deepEqual(client?.attributes, {
    'mcp.method.name': 'tools/call',
    'mcp.protocol.version': '2025-11-25',
    'network.transport': 'pipe',
    'portolan.server': 'mirror',
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'mirror',
  })
  const { 'mcp.session.id': id, ...rest } = server?.attributes ?? {}
  assert.deepEqual(rest, {
    'mcp.method.name': 'tools/call',
    'portolan.era': 'legacy',
    'portolan.route': 'hierarchical',
    'portolan.meta_tool': 'execute_mcp_tool',
    'portolan.server': 'mirror',
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'mirror:mirror',
  })
  assert.equal(server?.resource['service.name'], 'gateway')
  assert.equal(client?.parentSpanId, server?.spanId)
  assert.match(String(id), /^[\w-]{8,}$/)
})

test('the span of a search says how many tools were found and shown', () => {
  const [search, , server] = received.get('search') ?? []
  assert.equal(search?.parentSpanId, server?.spanId)
  assert.deepEqual(Object.keys(search?.attributes ?? {}), ['portolan.search.found', 'portolan.search.shown'])
})

test('the span of a JSON-RPC error has the code of the error', () => {
  const [client] = received.get('completion') ?? []
  assert.equal(client?.attributes['rpc.response.status_code'], '-32601')
})

test('the span of discovery has its server, and the reason if it failed', () => {
  const of = (name: string) => collector.spans.filter(span => span.name === `discover ${name}`)
  assert.equal(of('mirror')[0]?.error, false)
  assert.equal(of('mirror')[0]?.attributes['portolan.server'], 'mirror')
  assert.equal(of('away')[0]?.error, true)
  assert.ok(of('away')[0]?.attributes['error.type'])
})

test('no span contains what an agent wrote, what a server answered, or a complete session id', () => {
  const sent = Buffer.concat(collector.bodies).toString('latin1')
  assert.ok(session.length > 20)
  for (const never of [SECRET, 'give back', 'progressToken', session]) assert.ok(!sent.includes(never), never)
})
