/** Answers over streamable HTTP in every form that servers use. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callOf } from '../../../../test/support/call.ts'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { until } from '../../../../test/support/until.ts'
import {
  answer,
  type Behaviour,
  flood,
  raw,
  startRude,
  stream,
} from '../../../../test/upstreams/http/rude.ts'
import { type Clock, systemClock } from '../../../async.ts'
import { createHttpUpstream } from './streamable.ts'

const never = new AbortController().signal
const MAX_BYTES = 100_000
const RESULT = { content: [{ type: 'text', text: 'fine' }] }

async function rude(
  t: { after(run: () => Promise<unknown>): void },
  behaviours: Record<string, Behaviour>,
  clock: Clock = systemClock,
) {
  const server = await startRude(behaviours)
  const spec = {
    url: server.url,
    transport: 'streamable-http',
    sessions: 'shared',
    startTimeoutMs: 5_000,
  } as const
  const upstream = createHttpUpstream(spec, { clock })
  t.after(() => Promise.all([upstream.close(), server.close()]))
  const call = () =>
    upstream.request(callOf({ method: 'tools/call', params: { name: 'any' }, maxBytes: MAX_BYTES }), never)
  return { server, upstream, call }
}

const event = (data: string, id?: string) => `${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`

const answers: [string, Behaviour][] = [
  [
    'with the result last',
    (response, { id }) =>
      void response.end(`{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(RESULT)}}`),
  ],
  ['with the result first', answer(RESULT)],
  [
    'with keys in another order',
    (response, { id }) => void response.end(JSON.stringify({ id, jsonrpc: '2.0', result: RESULT })),
  ],
  [
    'with its id as a string',
    (response, { id }) => void response.end(JSON.stringify({ jsonrpc: '2.0', id: `${id}`, result: RESULT })),
  ],
  [
    'with its id as a string on a stream',
    stream((response, { id }) =>
      response.end(event(JSON.stringify({ jsonrpc: '2.0', id: `${id}`, result: RESULT }))),
    ),
  ],
  [
    'with a key after the result',
    (response, { id }) =>
      void response.end(`{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(RESULT)},"x":{}}`),
  ],
  [
    'in a batch',
    (response, { id }) =>
      void response.end(
        JSON.stringify([
          { jsonrpc: '2.0', method: 'notifications/message' },
          { jsonrpc: '2.0', id, result: RESULT },
        ]),
      ),
  ],
  [
    'after garbage on the stream',
    stream((response, { id }) =>
      response.end(event('oops') + event(JSON.stringify({ jsonrpc: '2.0', id, result: RESULT }))),
    ),
  ],
  [
    'byte by byte',
    stream((response, { id }) => {
      for (const byte of event(JSON.stringify({ jsonrpc: '2.0', id, result: RESULT }))) response.write(byte)
      response.end()
    }),
  ],
  [
    'on a stream that floods afterwards',
    stream((response, { id }) => {
      response.write(event(JSON.stringify({ jsonrpc: '2.0', id, result: RESULT })))
      flood(response, ': x'.repeat(1000))
    }),
  ],
]

for (const [title, behaviour] of answers)
  test(`an answer ${title} is read correctly`, async t => {
    const { call } = await rude(t, { 'tools/call': behaviour })
    const { result, resultText } = (await call()) as { result: object; resultText?: string }
    assert.deepEqual(result, RESULT)
    if (resultText !== undefined) assert.equal(resultText, JSON.stringify(RESULT))
  })

test('a JSON-RPC error that comes with status 400 is an answer', async t => {
  const { call } = await rude(t, {
    'tools/call': (response, { id }) =>
      raw(
        400,
        'application/json',
        JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32602, message: 'bad' } }),
      )(response, {}, response.req),
  })
  assert.deepEqual(await call(), { error: { code: -32602, message: 'bad' } })
})

test('a session refused with status 400 is opened again, once', async t => {
  const { call, server } = await rude(t, {
    'tools/call': raw(400, 'application/json', '{"error":{"message":"No valid session ID"}}'),
  })
  await assert.rejects(call(), { code: 'upstream_died' })
  assert.equal(server.log.filter(entry => entry === 'POST initialize').length, 2)
})

test('a redirect on the same origin is followed, and remembered', async t => {
  const moved: Behaviour = (response, message, request) =>
    request.url === '/mcp'
      ? void response.writeHead(308, { location: '/mcp/' }).end()
      : answer({ tools: [] })(response, message, request)
  const { upstream, server } = await rude(t, { 'tools/list': moved })
  for (let times = 0; times < 2; times++)
    await upstream.request(callOf({ method: 'tools/list', maxBytes: MAX_BYTES }), never)
  assert.equal(server.log.filter(entry => entry === 'POST tools/list').length, 3)
})

test('a broken stream is resumed where it ended', async t => {
  let last: unknown
  const { call } = await rude(t, {
    'tools/call': stream(response => response.end(`retry: 1\n${event('', 'e1')}`)),
    GET: (response, message, request) => {
      last = request.headers['last-event-id']
      stream(() => response.end(event(JSON.stringify({ jsonrpc: '2.0', id: 2, result: RESULT }), 'e2')))(
        response,
        message,
        request,
      )
    },
  })
  assert.deepEqual((await call()).result, RESULT)
  assert.equal(last, 'e1')
})

test('a broken stream that the server does not resume is requested once', async t => {
  const { call, server } = await rude(t, {
    'tools/call': stream(response => response.end(`retry: 1\n${event('', 'e1')}`)),
  })
  await assert.rejects(call(), { code: 'upstream_died', message: /does not resume it/ })
  assert.equal(server.log.filter(entry => entry === 'GET').length, 1)
})

test('a call whose stream cannot be resumed because the server is down was sent, and its fault says so', async t => {
  const clock = createManualClock()
  const behaviour = stream(response => response.end(`retry: 1\n${event('', 'e1')}`))
  const { call, server, upstream } = await rude(t, { 'tools/call': behaviour }, clock)
  await upstream.connect(never)
  const timers = clock.pending()
  let over = false
  const calling = call().finally(() => {
    over = true
  })
  calling.catch(() => {})
  await server.logged('POST tools/call')
  await until(() => clock.pending() > timers)
  await server.close()
  await until(() => {
    clock.advance(100)
    return over
  })
  await assert.rejects(calling, { code: 'upstream_died', message: /cannot be reached/ })
})

test("a server's own error -32022 without a list of versions is the answer", async t => {
  const error = { code: -32022, message: 'quota' }
  const { call, server } = await rude(t, {
    'tools/call': (response, { id }) => void response.end(JSON.stringify({ jsonrpc: '2.0', id, error })),
  })
  assert.deepEqual(await call(), { error })
  assert.equal(server.log.filter(entry => entry === 'POST tools/call').length, 1)
})

test('a handshake that fails after the upstream opened a session ends that session', async t => {
  const { upstream, server } = await rude(t, {
    'notifications/initialized': raw(500, 'text/plain', ''),
  })
  await assert.rejects(upstream.connect(never), { code: 'upstream_unreachable' })
  await server.logged('DELETE')
})
