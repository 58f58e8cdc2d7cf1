/** Streamable HTTP upstreams that misbehave: only the affected call fails, with a fault that names the cause. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callOf } from '../../../../test/support/call.ts'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { until } from '../../../../test/support/until.ts'
import {
  answer,
  type Behaviour,
  flood,
  hang,
  raw,
  startRude,
  stream,
} from '../../../../test/upstreams/http/rude.ts'
import { type Clock, systemClock } from '../../../async.ts'
import type { Fault } from '../../../errors.ts'
import type { Upstream } from '../../upstream.ts'
import { createHttpUpstream } from './streamable.ts'

const never = new AbortController().signal
const MAX_BYTES = 100_000
const RESULT = { content: [{ type: 'text', text: 'fine' }] }

type Test = { after(run: () => Promise<unknown>): void }

async function rude(t: Test, behaviours: Record<string, Behaviour>, clock: Clock = systemClock) {
  const server = await startRude(behaviours)
  const spec = {
    url: server.url,
    transport: 'streamable-http',
    sessions: 'shared',
    startTimeoutMs: 5_000,
  } as const
  const upstream = createHttpUpstream(spec, { clock, random: () => 1 })
  t.after(() => Promise.all([upstream.close(), server.close()]))
  return { server, upstream, call: () => callTool(upstream) }
}

function callTool(upstream: Upstream, signal = never) {
  return upstream.request(
    callOf({ method: 'tools/call', params: { name: 'any' }, maxBytes: MAX_BYTES }),
    signal,
  )
}

const big = JSON.stringify({ jsonrpc: '2.0', id: 2, result: { text: 'x'.repeat(MAX_BYTES) } })
const event = (data: string) => `data: ${data}\n\n`

const faults: [string, Behaviour, Fault['code']][] = [
  ['that is not JSON', raw(200, 'application/json', 'oops'), 'upstream_protocol'],
  ['that is a web page', raw(200, 'text/html', '<h1>Welcome</h1>'), 'upstream_protocol'],
  [
    'to another request',
    raw(200, 'application/json', '{"jsonrpc":"2.0","id":99,"result":{}}'),
    'upstream_protocol',
  ],
  [
    'whose result is no object',
    raw(200, 'application/json', '{"jsonrpc":"2.0","id":2,"result":7}'),
    'upstream_protocol',
  ],
  ['that is empty', raw(202, 'text/plain', ''), 'upstream_protocol'],
  ['over the limit', raw(200, 'application/json', big), 'upstream_too_large'],
  [
    'without end',
    response => flood(response.writeHead(200, { 'content-type': 'application/json' }), 'x'.repeat(65_536)),
    'upstream_too_large',
  ],
  ['in an event over the limit', stream(response => response.end(event(big))), 'upstream_too_large'],
  [
    'in an event without end',
    stream(response => {
      response.write('data: ')
      flood(response, 'x'.repeat(65_536))
    }),
    'upstream_too_large',
  ],
  [
    'cut off',
    response =>
      void response.writeHead(200, { 'content-length': 100 }).write('{"json', () => response.destroy()),
    'upstream_died',
  ],
  ['on a stream that ends too early', stream(response => response.end(': nothing\n\n')), 'upstream_died'],
  ['with status 500', raw(500, 'text/plain', 'oops'), 'upstream_unreachable'],
  ['with status 502', raw(502, 'text/plain', 'oops'), 'upstream_unreachable'],
  ['with status 401', raw(401, 'text/plain', ''), 'upstream_auth_required'],
  ['with status 403', raw(403, 'text/plain', ''), 'upstream_auth_required'],
  ['with status 429', raw(429, 'text/plain', ''), 'upstream_busy'],
  ['with status 413', raw(413, 'text/plain', ''), 'bad_request'],
  ['with status 431', raw(431, 'text/plain', ''), 'bad_request'],
  ['with status 418', raw(418, 'text/plain', ''), 'upstream_protocol'],
  [
    'with a redirect to elsewhere',
    response => void response.writeHead(307, { location: 'http://localhost:1/' }).end(),
    'upstream_protocol',
  ],
]

for (const [title, behaviour, code] of faults)
  test(`an answer ${title} is a fault ${code} that shows no address`, async t => {
    const { call } = await rude(t, { 'tools/call': behaviour })
    await assert.rejects(call(), (fault: Fault) => {
      assert.equal(fault.code, code)
      assert.doesNotMatch(fault.message + JSON.stringify(fault.details), /127\.0\.0\.1|localhost/)
      return true
    })
  })

test('the fault for a header that HTTP does not allow does not contain its value', async t => {
  const server = await startRude({})
  const spec = {
    url: server.url,
    transport: 'streamable-http',
    sessions: 'shared',
    startTimeoutMs: 5_000,
  } as const
  const upstream = createHttpUpstream({ ...spec, headers: { 'x-key': 'sec\nret' } }, { clock: systemClock })
  t.after(() => Promise.all([upstream.close(), server.close()]))
  await assert.rejects(upstream.connect(never), (fault: Fault) => {
    assert.equal(fault.code, 'bad_request')
    assert.doesNotMatch(fault.message, /sec/)
    return true
  })
})

test('a handshake that hangs ends after the start time, for all who wait', async t => {
  const clock = createManualClock()
  const { upstream, server } = await rude(t, { initialize: hang }, clock)
  const connecting = [callTool(upstream), callTool(upstream)]
  await server.logged('POST initialize')
  clock.advance(5_000)
  for (const each of connecting) await assert.rejects(each, { code: 'upstream_timeout' })
  assert.deepEqual(server.log, ['POST server/discover', 'POST initialize'])
})

test('a caller that leaves during the handshake does not end it for others', async t => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const { upstream, server } = await rude(t, {
    initialize: (response, message, request) =>
      void gate.then(() =>
        answer({ protocolVersion: '2024-11-05', capabilities: {} })(response, message, request),
      ),
  })
  const abort = new AbortController()
  const leaving = upstream.connect(abort.signal)
  const staying = upstream.connect(never)
  await server.logged('POST initialize')
  abort.abort()
  await assert.rejects(leaving, { code: 'cancelled' })
  open()
  assert.equal((await staying).protocolVersion, '2024-11-05')
  assert.equal(server.log.filter(entry => entry === 'POST initialize').length, 1)
})

test('a protocol revision that we do not know is refused', async t => {
  const { upstream } = await rude(t, {
    initialize: answer({ protocolVersion: '1999-01-01', capabilities: {} }),
  })
  await assert.rejects(upstream.connect(never), { code: 'upstream_protocol', message: /1999-01-01/ })
})

test('a hung call does not delay other calls', async t => {
  let calls = 0
  const { upstream, call } = await rude(t, {
    'tools/call': (response, message, request) =>
      calls++ === 0 ? undefined : answer(RESULT)(response, message, request),
  })
  const abort = new AbortController()
  const hung = callTool(upstream, abort.signal)
  await Promise.all(Array.from({ length: 20 }, call))
  abort.abort()
  await assert.rejects(hung, { code: 'cancelled' })
})

test('a stream that stays open after its answer is closed after a second', async t => {
  const clock = createManualClock()
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const { call } = await rude(
    t,
    {
      'tools/call': stream((response, { id }) => {
        response.on('close', resolve)
        response.write(event(JSON.stringify({ jsonrpc: '2.0', id, result: RESULT })))
      }),
    },
    clock,
  )
  assert.deepEqual((await call()).result, RESULT)
  clock.advance(1_000)
  await closed
})

test('a question to a caller that declared no capability is refused', async t => {
  const { promise, resolve } = Promise.withResolvers<unknown>()
  const asking = JSON.stringify({ jsonrpc: '2.0', id: 'r1', method: 'roots/list' })
  const server = await startRude({
    'tools/call': stream((response, { id }) =>
      response.end(event(asking) + event(JSON.stringify({ jsonrpc: '2.0', id, result: RESULT }))),
    ),
    '': (response, message) => {
      resolve(message)
      response.writeHead(202).end()
    },
  })
  const upstream = createHttpUpstream(
    { url: server.url, transport: 'streamable-http', sessions: 'shared', startTimeoutMs: 5_000 },
    { clock: systemClock },
  )
  t.after(() => Promise.all([upstream.close(), server.close()]))
  await callTool(upstream)
  assert.deepEqual(await promise, {
    jsonrpc: '2.0',
    id: 'r1',
    error: { code: -32601, message: 'The client did not declare that it can be asked for roots/list' },
  })
})

test('a broken change stream is reopened with growing delays', async t => {
  const clock = createManualClock()
  const server = await startRude({
    initialize: answer({ protocolVersion: '2025-11-25', capabilities: { tools: { listChanged: true } } }),
    GET: stream(response => response.end()),
  })
  const upstream = createHttpUpstream(
    { url: server.url, transport: 'streamable-http', sessions: 'shared', startTimeoutMs: 5_000 },
    { clock, random: () => 1 },
  )
  t.after(() => Promise.all([upstream.close(), server.close()]))
  upstream.onEvent(() => {})
  await upstream.connect(never)
  for (const waits of [1_000, 2_000]) {
    await until(() => clock.pending() === 1)
    const before = server.log.length
    clock.advance(waits - 1)
    assert.equal(clock.pending(), 1)
    clock.advance(1)
    await until(() => server.log.length > before)
  }
})

test('a session that a repeated request finds lost is reported: the lists may have changed', async t => {
  let requests = 0
  const { upstream } = await rude(t, {
    'tools/list': (response, message, request) => {
      requests++
      if (requests === 1) request.socket.destroy()
      else if (requests === 2) response.writeHead(404).end()
      else answer({ tools: [] })(response, message, request)
    },
  })
  const changed: string[] = []
  upstream.onEvent(event => event.kind === 'listChanged' && changed.push(event.list))
  await upstream.connect(never)
  const { result } = await upstream.request(callOf({ method: 'tools/list' }), never)
  assert.deepEqual(result, { tools: [] })
  assert.deepEqual(changed, ['tools'])
})

test('a server that answers 404 where it has no stream keeps its session', async t => {
  const { call, server, upstream } = await rude(t, {
    initialize: (response, { id }) => {
      const result = { protocolVersion: '2025-11-25', capabilities: { tools: { listChanged: true } } }
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'one' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    },
    GET: raw(404, 'text/html', 'Cannot GET /mcp'),
    'tools/call': answer(RESULT),
  })
  upstream.onEvent(() => {})
  for (let calls = 0; calls < 3; calls++) await call()
  await server.logged('GET')
  await call()
  assert.equal(server.log.filter(entry => entry === 'POST initialize').length, 1)
})

test("clients' streams for messages between calls do not delay calls", async t => {
  const changing = { protocolVersion: '2025-11-25', capabilities: { tools: { listChanged: true } } }
  const server = await startRude({
    initialize: answer(changing),
    GET: stream(response => response.write(': open\n\n')),
    'tools/call': answer(RESULT),
  })
  const upstream = createHttpUpstream(
    { url: server.url, transport: 'streamable-http', sessions: 'perClient', startTimeoutMs: 60_000 },
    { clock: systemClock },
  )
  t.after(() => Promise.all([upstream.close(), server.close()]))
  upstream.attach?.({ notified: () => {}, asked: () => undefined })
  const call = { method: 'tools/call', params: { name: 'any' }, maxBytes: MAX_BYTES }
  const clients = Array.from({ length: 256 }, (_, at) => `client ${at}`)
  for (let rounds = 0; rounds < 2; rounds++)
    await Promise.all(clients.map(client => upstream.request(callOf({ ...call, client }), never)))
  await until(() => server.log.filter(entry => entry === 'GET').length === 256)
  await Promise.all(clients.map(client => upstream.request(callOf({ ...call, client }), never)))
})
