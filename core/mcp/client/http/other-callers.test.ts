/** A failure of one caller's request at a streamable HTTP upstream does not affect other callers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CallOptions, callOf } from '../../../../test/support/call.ts'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { until } from '../../../../test/support/until.ts'
import { CAN_ALL } from '../../../../test/upstreams/asking/questions.ts'
import { startAskingLegacy } from '../../../../test/upstreams/http/asking-legacy.ts'
import { answer, type Behaviour, raw, startRude, stream } from '../../../../test/upstreams/http/rude.ts'
import { type Clock, systemClock } from '../../../async.ts'
import type { JsonObject } from '../../../json.ts'
import type { Upstream } from '../../upstream.ts'
import type { RemoteSpec } from './spec.ts'
import { createHttpUpstream } from './streamable.ts'

const never = new AbortController().signal
const RESULT = { content: [] }

type Test = { after(run: () => Promise<unknown>): void }

function upstreamOf(
  t: Test,
  server: { url: string; close(): Promise<void> },
  clock: Clock = systemClock,
  sessions: RemoteSpec['sessions'] = 'shared',
) {
  const spec = { url: server.url, transport: 'streamable-http', sessions } as const
  const upstream = createHttpUpstream({ ...spec, startTimeoutMs: 5_000 }, { clock, random: () => 1 })
  t.after(() => Promise.all([upstream.close(), server.close()]))
  return upstream
}

function call(upstream: Upstream, name: string, more: CallOptions = {}) {
  return upstream.request(callOf({ params: { name }, ...more }), never)
}

test('a failing proxy during one call does not end the session of other callers', async t => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const slow = Promise.withResolvers<void>()
  const server = await startRude({
    'tools/call': (response, message, request) => {
      if (message.params?.name !== 'slow') return raw(503, 'text/plain', 'oops')(response, message, request)
      slow.resolve()
      void gate.then(() => answer(RESULT)(response, message, request))
    },
  })
  const upstream = upstreamOf(t, server)
  const waiting = call(upstream, 'slow')
  await slow.promise
  await assert.rejects(call(upstream, 'any'), { code: 'upstream_unreachable' })
  await upstream.connect(never)
  assert.ok(!server.log.includes('DELETE'))
  open()
  await waiting
  await server.logged('DELETE')
})

test('a client keeps its own session, with its state, while the server or a proxy refuses calls', async t => {
  const refusals = [502, 503, 504]
  const calls = [...refusals, 200, 404, 200]
  const server = await startRude({
    'tools/call': (response, message, request) => {
      const status = calls.shift() ?? 500
      const behaviour = status === 200 ? answer(RESULT) : raw(status, 'text/plain', 'oops')
      behaviour(response, message, request)
    },
  })
  const upstream = upstreamOf(t, server, systemClock, 'perClient')
  const handshakes = () => server.log.filter(entry => entry === 'POST initialize').length
  for (const status of refusals)
    await assert.rejects(call(upstream, 'any', { client: 'ann' }), {
      code: 'upstream_unreachable',
      details: { status },
    })
  await call(upstream, 'any', { client: 'ann' })
  assert.deepEqual([handshakes(), server.log.includes('DELETE')], [1, false])
  await call(upstream, 'any', { client: 'ann' })
  assert.equal(handshakes(), 2)
})

test('a client gets a new session if its own has been refused for a minute, as by a proxy that looks for a pod that is gone', async t => {
  const clock = createManualClock()
  let status = 502
  const server = await startRude({
    'tools/call': (response, message, request) => {
      const behaviour = status === 200 ? answer(RESULT) : raw(status, 'text/plain', 'oops')
      behaviour(response, message, request)
    },
  })
  const upstream = upstreamOf(t, server, clock, 'perClient')
  const handshakes = () => server.log.filter(entry => entry === 'POST initialize').length
  const refused = () =>
    assert.rejects(call(upstream, 'any', { client: 'ann' }), { code: 'upstream_unreachable' })
  await refused()
  clock.advance(59_000)
  await refused()
  assert.equal(handshakes(), 1)
  clock.advance(1_000)
  await refused()
  status = 200
  await call(upstream, 'any', { client: 'ann' })
  assert.equal(handshakes(), 2)
})

test('callers with unusual capabilities do not take the sessions of others', async t => {
  const upstream = upstreamOf(t, await startAskingLegacy('streamable-http'))
  const declared = async (capabilities: JsonObject) => {
    const { result } = await call(upstream, 'declared', { capabilities })
    return JSON.parse((result?.content as { text: string }[])[0]?.text ?? 'null')
  }
  for (let at = 0; at < 40; at++)
    assert.deepEqual(await declared({ elicitation: { [`odd ${at}`]: {} } }), { elicitation: { form: {} } })
  assert.deepEqual(await declared(CAN_ALL), CAN_ALL)
})

test('after a broken connection, only requests that change nothing are repeated', async t => {
  let requests = 0
  const breaks: Behaviour = response => {
    requests++
    response.destroy()
  }
  const server = await startRude({ 'tools/call': breaks, 'vendor/run': breaks, 'prompts/get': breaks })
  const upstream = upstreamOf(t, server)
  for (const [method, times] of [
    ['tools/call', 1],
    ['vendor/run', 1],
    ['prompts/get', 2],
  ] as const) {
    requests = 0
    await assert.rejects(call(upstream, 'any', { method }), { code: 'upstream_died' })
    assert.equal(requests, times, method)
  }
})

test('status 400 with any id is the answer to that request, and no failure of the upstream', async t => {
  const error = { code: -32602, message: 'Bad Request: no such region' }
  for (const id of ['null', '"server-error"']) {
    const body = `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}`
    const server = await startRude({ 'tools/call': raw(400, 'application/json', body) })
    assert.deepEqual(await call(upstreamOf(t, server), 'any'), { error })
    assert.equal(server.log.filter(entry => entry === 'POST tools/call').length, 1)
  }
})

test('a change stream that ends after its first event is reopened with growing delays, until it lasts again', async t => {
  const clock = createManualClock()
  const notification = {
    jsonrpc: '2.0',
    method: 'notifications/message',
    params: { level: 'info', data: 'here' },
  }
  let end = (): void => {}
  let lasting = false
  const server = await startRude({
    initialize: answer({ protocolVersion: '2025-11-25', capabilities: { tools: { listChanged: true } } }),
    GET: stream(response => {
      response.write(`data: ${JSON.stringify(notification)}\n\n`)
      end = () => void response.end()
      if (!lasting) end()
    }),
  })
  const upstream = upstreamOf(t, server, clock)
  upstream.onEvent(() => {})
  await upstream.connect(never)
  const opens = () => server.log.filter(entry => entry === 'GET').length
  const waits = async (ms: number, timers = 1) => {
    await until(() => clock.pending() === timers)
    const before = opens()
    clock.advance(ms - 1)
    assert.equal(clock.pending(), timers)
    clock.advance(1)
    await until(() => opens() > before)
  }
  for (const ms of [1_000, 2_000]) await waits(ms)
  // The other timer is for the lists that may have changed in the meantime.
  await waits(4_000, 2)
  lasting = true
  await waits(8_000, 2)
  clock.advance(60_000)
  lasting = false
  end()
  await waits(1_000)
})
