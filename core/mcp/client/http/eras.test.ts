/** Upstreams of both eras over streamable HTTP: which era is used, what is remembered, and what happens if the upstream changes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CallOptions, callOf } from '../../../../test/support/call.ts'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { CAN_ALL } from '../../../../test/upstreams/asking/questions.ts'
import { type AskingModern, startAskingModern } from '../../../../test/upstreams/http/asking-modern.ts'
import { hang, raw, startRude } from '../../../../test/upstreams/http/rude.ts'
import { startSdk1 } from '../../../../test/upstreams/http/sdk1.ts'
import { type Clock, systemClock } from '../../../async.ts'
import type { JsonObject, JsonValue } from '../../../json.ts'
import type { Upstream } from '../../upstream.ts'
import type { RemoteSpec } from './spec.ts'
import { createHttpUpstream } from './streamable.ts'

const never = new AbortController().signal
const VERSION = 'io.modelcontextprotocol/protocolVersion'

type Test = { after(run: () => Promise<unknown>): void }
type Server = { url: string; close(): Promise<void> }

function upstreamOf(
  t: Test,
  server: Server,
  sessions: RemoteSpec['sessions'],
  clock: Clock = systemClock,
): Upstream {
  const spec = { url: server.url, transport: 'streamable-http', sessions, startTimeoutMs: 5_000 } as const
  const upstream = createHttpUpstream(spec, { clock, random: () => 1 })
  t.after(() => Promise.all([upstream.close(), server.close()]))
  return upstream
}

async function modern(t: Test, kind: 'modern' | 'dual', sessions: RemoteSpec['sessions'] = 'shared') {
  const server = await startAskingModern(kind)
  return { server, upstream: upstreamOf(t, server, sessions) }
}

async function call(upstream: Upstream, name: string, more: CallOptions = {}) {
  const { params, ...rest } = more
  const answer = await upstream.request(callOf({ params: { name, ...params }, ...rest }), never)
  return answer
}

function textOf({ result }: { result?: JsonObject }): JsonValue {
  const [content] = (result?.content ?? []) as { text: string }[]
  return JSON.parse(content?.text ?? 'null')
}

const requestsOf = ({ requests }: AskingModern, method: string) =>
  requests.filter(({ body }) => body.method === method)

for (const kind of ['modern', 'dual'] as const)
  test(`a shared ${kind} server that knows server/discover is used without a handshake`, async t => {
    const { server, upstream } = await modern(t, kind)
    for (let calls = 0; calls < 3; calls++)
      assert.deepEqual(textOf(await call(upstream, 'echo', { params: { arguments: { calls } } })), { calls })
    const info = await upstream.connect(never)
    assert.equal(info.era, 'modern')
    assert.equal(info.protocolVersion, '2026-07-28')
    assert.equal(info.serverInfo?.name, 'asking')
    assert.deepEqual(
      server.log.entries.filter(entry => entry.startsWith('POST')),
      ['POST server/discover', ...Array(3).fill('POST tools/call')],
    )
  })

test('every request names its revision, client, method and name, in body and headers', async t => {
  const { server, upstream } = await modern(t, 'modern')
  await call(upstream, 'echo', {
    headers: { traceparent: '00-1', 'mcp-param-x': 'y' },
    capabilities: { sampling: {} },
    logLevel: 'error',
    params: { _meta: { 'example.com/mine': 1 } },
  })
  await upstream.request(callOf({ method: 'prompts/get', params: { name: '検索' }, maxBytes: 1e6 }), never)
  const [{ headers, body } = assert.fail()] = requestsOf(server, 'tools/call')
  const meta = (body.params as JsonObject)._meta as JsonObject
  assert.equal(meta[VERSION], '2026-07-28')
  assert.equal((meta['io.modelcontextprotocol/clientInfo'] as JsonObject).name, 'portolan')
  assert.deepEqual(meta['io.modelcontextprotocol/clientCapabilities'], { sampling: {} })
  assert.equal(meta['io.modelcontextprotocol/logLevel'], 'error')
  assert.equal(meta['example.com/mine'], 1)
  assert.equal(headers['mcp-protocol-version'], '2026-07-28')
  assert.equal(headers['mcp-method'], 'tools/call')
  assert.equal(headers['mcp-name'], 'echo')
  assert.equal(headers.traceparent, '00-1')
  assert.equal(headers['mcp-param-x'], 'y')
  const [prompt = assert.fail()] = requestsOf(server, 'prompts/get')
  assert.equal(prompt.headers['mcp-name'], `=?base64?${Buffer.from('検索').toString('base64')}?=`)
})

test('arguments are sent unchanged in both eras, also numbers beyond 2^53', async t => {
  const argumentsText = '{"n": 12345678901234567890,\n "s":"a\\nb"}'
  const { server, upstream } = await modern(t, 'modern')
  await call(upstream, 'echo', { params: { arguments: {} }, argumentsText })
  const sent = requestsOf(server, 'tools/call')[0]?.body.params as JsonObject
  assert.deepEqual(sent.arguments, JSON.parse(argumentsText))
  const texts: string[] = []
  const rude = await startRude({
    'tools/call': (response, { id }, request) => {
      texts.push(request.headers['content-length'] ?? '')
      raw(200, 'application/json', `{"jsonrpc":"2.0","id":${id},"result":{}}`)(response, {}, request)
    },
  })
  await call(upstreamOf(t, rude, 'shared'), 'echo', { params: { arguments: {} }, argumentsText })
  const written = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":${argumentsText}}}`
  assert.deepEqual(texts, [String(written.length)])
})

test('input_required is passed on as the answer, and the responses with the repeated call', async t => {
  const { upstream } = await modern(t, 'modern')
  const asked = await call(upstream, 'ask', {
    params: { arguments: { kinds: 'form' } },
    capabilities: CAN_ALL,
  })
  assert.equal(asked.result?.resultType, 'input_required')
  const { inputRequests, requestState } = asked.result ?? {}
  assert.equal(((inputRequests as JsonObject).form as JsonObject).method, 'elicitation/create')
  const inputResponses = { form: { action: 'accept', content: { name: 'Ann' } } }
  const params = { arguments: { kinds: 'form' }, inputResponses, requestState }
  assert.deepEqual(textOf(await call(upstream, 'ask', { params, capabilities: CAN_ALL })), inputResponses)
})

test('if the caller cannot be asked, the error says so', async t => {
  const { upstream } = await modern(t, 'modern')
  const { error } = await call(upstream, 'ask', { params: { arguments: { kinds: 'form' } } })
  assert.equal(error?.code, -32021)
  assert.ok((error?.data as JsonObject).requiredCapabilities)
})

test("log messages arrive with the call, from the caller's level on", async t => {
  const { upstream } = await modern(t, 'modern')
  for (const [logLevel, expected] of [
    [undefined, []],
    ['error', ['error']],
    ['debug', ['debug', 'error']],
  ] as const) {
    const heard: unknown[] = []
    await call(upstream, 'log', { logLevel, notify: ({ params }) => heard.push(params?.data) })
    assert.deepEqual(heard, expected)
  }
})

test("progress has the caller's token, and an aborted call is cancelled by closing its stream", async t => {
  const { server, upstream } = await modern(t, 'modern')
  const heard: unknown[] = []
  await call(upstream, 'progress', {
    params: { _meta: { progressToken: 'mine' } },
    notify: ({ params }) => heard.push(params?.progressToken),
  })
  assert.deepEqual(heard, ['mine'])
  server.log.entries.length = 0
  const abort = new AbortController()
  const hanging = upstream.request(
    callOf({ method: 'tools/call', params: { name: 'hang' }, maxBytes: 1e6 }),
    abort.signal,
  )
  await server.log.logged('POST tools/call')
  abort.abort()
  await assert.rejects(hanging, { code: 'cancelled' })
  await server.log.logged('closed tools/call')
  assert.ok(!server.log.entries.includes('POST notifications/cancelled'))
})

test('with sessions per client the older era is tried first, and a call without a client needs no session', async t => {
  const { server, upstream } = await modern(t, 'dual', 'perClient')
  await call(upstream, 'echo', { client: 'ann' })
  assert.equal((await upstream.connect(never)).era, undefined)
  assert.ok(!server.log.entries.includes('POST server/discover'))
  server.requests.length = 0
  await call(upstream, 'echo')
  await call(upstream, 'echo')
  const calls = requestsOf(server, 'tools/call')
  assert.ok(calls.every(({ headers }) => headers['mcp-protocol-version'] === '2026-07-28'))
  await call(upstream, 'echo', { client: 'ann' })
  assert.equal(requestsOf(server, 'tools/call').at(-1)?.headers['mcp-protocol-version'], '2025-11-25')
})

test('a server without sessions is shared by all clients once that is known', async t => {
  const { server, upstream } = await modern(t, 'modern', 'perClient')
  await call(upstream, 'echo', { client: 'ann' })
  server.log.entries.length = 0
  for (const client of ['ann', 'bob', undefined]) await call(upstream, 'echo', { client })
  assert.ok(!server.log.entries.includes('POST initialize'))
  assert.equal(server.log.entries.filter(entry => entry === 'POST server/discover').length, 1)
})

test('a server of the older era is asked once whether it speaks the newer one', async t => {
  const server = await startSdk1('stateful')
  const upstream = upstreamOf(t, server, 'shared')
  await call(upstream, 'count')
  server.forget()
  await call(upstream, 'count')
  assert.deepEqual(
    server.log.filter(entry => entry !== 'POST notifications/initialized' && entry !== 'GET'),
    [
      'POST server/discover',
      'POST initialize',
      ...Array(2).fill('POST tools/call'),
      'POST initialize',
      'POST tools/call',
    ],
  )
})

test('an older server that does not answer server/discover is initialized after three seconds', async t => {
  const clock = createManualClock()
  const server = await startRude({ 'server/discover': hang })
  const upstream = upstreamOf(t, server, 'shared', clock)
  const connecting = upstream.connect(never)
  await server.logged('POST server/discover')
  clock.advance(3_000)
  assert.equal((await connecting).protocolVersion, '2025-11-25')
})

test('an older server that closes the connection on server/discover is initialized', async t => {
  const server = await startRude({ 'server/discover': response => void response.destroy() })
  assert.equal((await upstreamOf(t, server, 'shared').connect(never)).protocolVersion, '2025-11-25')
})

for (const status of [401, 403, 500, 503])
  test(`after status ${status} the era is unknown, and no handshake follows`, async t => {
    const server = await startRude({ 'server/discover': raw(status, 'text/plain', '') })
    await assert.rejects(upstreamOf(t, server, 'shared').connect(never), { name: 'Fault' })
    assert.deepEqual(server.log, ['POST server/discover'])
  })

test('a refused revision is replaced by one that the server names', async t => {
  let asked = 0
  const server = await startRude({
    'server/discover': (response, { id }, request) => {
      const error = { code: -32022, message: 'no', data: { supported: ['2026-07-28'] } }
      const result = { supportedVersions: ['2026-07-28'], capabilities: {} }
      const body = { jsonrpc: '2.0', id, ...(asked++ === 0 ? { error } : { result }) }
      raw(asked === 1 ? 400 : 200, 'application/json', JSON.stringify(body))(response, {}, request)
    },
  })
  assert.equal((await upstreamOf(t, server, 'shared').connect(never)).era, 'modern')
})

test("a bridge's answer names the revision of the server behind it", async t => {
  const result = {
    supportedVersions: ['2026-07-28'],
    capabilities: {},
    _meta: { 'portolan.dev/protocol': '2025-06-18' },
  }
  const server = await startRude({
    'server/discover': (response, { id }, request) =>
      raw(200, 'application/json', JSON.stringify({ jsonrpc: '2.0', id, result }))(response, {}, request),
  })
  const info = await upstreamOf(t, server, 'shared').connect(never)
  assert.equal(info.protocolVersion, '2025-06-18')
  assert.equal(info.era, 'modern')
})
