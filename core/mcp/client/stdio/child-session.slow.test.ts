/** One session with misbehaving servers: calls, answers, and unexpected messages. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callOf } from '../../../../test/support/call.ts'
import { until } from '../../../../test/support/until.ts'
import { rudeCommand, textOf, toolCall } from '../../../../test/upstreams/rude/rude.ts'
import { systemClock } from '../../../async.ts'
import { Fault } from '../../../errors.ts'
import type { McpResponse } from '../../protocol/json-rpc.ts'
import type { UpstreamCall } from '../../upstream.ts'
import { ChildSession, type SessionSpec } from './child-session.ts'

const { signal } = new AbortController()
const MIB = 1024 * 1024

/** A session with a rude server, ended after the test. */
async function open(
  t: { after(end: () => Promise<void>): void },
  mode: string,
  spec: Partial<SessionSpec> = {},
) {
  const changed: string[] = []
  const warnings: object[] = []
  const session = new ChildSession(
    { ...rudeCommand(mode), startTimeoutMs: 20_000, ...spec },
    {
      clock: systemClock,
      memory: {},
      log: { info() {}, warn: fields => warnings.push(fields) },
      onListChanged: list => changed.push(list),
    },
  )
  t.after(() => session.stop())
  const info = await session.ready
  const echo = async (text: string) => textOf(await session.request(toolCall('echo', { text }), signal))
  return { session, info, echo, changed, warnings }
}

const faultOf = (work: Promise<unknown>): Promise<Fault> =>
  work.then(
    () => assert.fail('it should have failed'),
    error => (error instanceof Fault ? error : assert.fail(error)),
  )

const errorOf = ({ error }: McpResponse) => error ?? assert.fail('no error')

test('the handshake returns name and capabilities, for old and new revisions', async t => {
  assert.deepEqual((await open(t, 'polite')).info, {
    protocolVersion: '2025-11-25',
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: 'rude', version: '1.0.0' },
    instructions: 'mode: polite',
  })
  assert.equal((await open(t, 'old-version')).info.protocolVersion, '2024-11-05')
})

for (const mode of [
  'garbage',
  'split',
  'duplicate-ids',
  'unknown-ids',
  'string-ids',
  'batch',
  'stderr-flood',
])
  test(`every call gets its own answer from a server of mode ${mode}`, async t => {
    const { echo } = await open(t, mode)
    const texts = Array.from({ length: 20 }, (_, index) => `${index} ü 工具 😀 \u2028`)
    assert.deepEqual(await Promise.all(texts.map(echo)), texts)
  })

test('lines that are not JSON-RPC are counted and rarely logged', async t => {
  const { echo, warnings } = await open(t, 'garbage')
  for (let round = 0; round < 5; round++) await echo('x')
  assert.deepEqual(warnings, [
    { lines: 1, first: 'Listening on port 3000' },
    { lines: 10, first: 'Listening on port 3000' },
  ])
})

test('a JSON-RPC error is an answer', async t => {
  const { session } = await open(t, 'polite')
  assert.deepEqual(errorOf(await session.request(toolCall('error'), signal)), {
    code: -32000,
    message: 'it went wrong',
  })
})

test('an answer without result or error fails only its call', async t => {
  const { session } = await open(t, 'no-result')
  const fault = await faultOf(session.request(toolCall('echo'), signal))
  assert.equal(fault.code, 'upstream_protocol')
  assert.ok((await session.request(callOf({ method: 'tools/list', maxBytes: MIB }), signal)).result)
})

for (const tool of ['big', 'big_id_first', 'big_id_last'])
  test(`an answer over the limit fails only its call, which is found by its id (${tool})`, async t => {
    const { session, echo } = await open(t, 'polite')
    const call = (bytes: number, maxBytes: number): UpstreamCall => ({
      ...toolCall(tool, { bytes }),
      maxBytes,
    })
    const other = session.request(toolCall('sleep', { ms: 50 }), signal)
    const roomy = session.request(call(3 * MIB, 4 * MIB), signal)
    const tight = await Promise.all([
      faultOf(session.request(call(3 * MIB, MIB), signal)),
      faultOf(session.request(call(20 * MIB, MIB), signal)),
      faultOf(session.request(call(2_000, 1_000), signal)),
    ])
    for (const fault of tight) assert.equal(fault.code, 'upstream_too_large')
    assert.equal(textOf(await roomy).length, 3 * MIB)
    assert.equal(textOf(await other), 'slept')
    assert.equal(await echo('still here'), 'still here')
  })

test('cancelling a call notifies the server, and a late answer is ignored', async t => {
  const { session } = await open(t, 'polite')
  const impatient = new AbortController()
  const gone = faultOf(session.request(toolCall('sleep', { ms: 30 }), impatient.signal))
  impatient.abort(new Fault('upstream_timeout', 'too slow'))
  assert.equal((await gone).code, 'upstream_timeout')
  await session.request(toolCall('sleep', { ms: 60 }), signal)
  const seen = JSON.parse(textOf(await session.request(toolCall('seen'), signal))) as {
    method: string
    params?: object
  }[]
  assert.deepEqual(
    seen.map(({ method }) => method),
    ['notifications/initialized', 'notifications/cancelled'],
  )
  assert.deepEqual(seen[1]?.params, { requestId: 2, reason: 'The caller does not wait any longer' })
})

test("progress reaches its call, with the caller's token", async t => {
  const { session } = await open(t, 'polite')
  const heard = [0, 1].map((): object[] => [])
  const calls = heard.map((list, index) => {
    const call = toolCall('progress', { steps: 2 + index })
    const params = { ...call.params, _meta: { progressToken: 'same', traceparent: '00-1' } }
    return session.request(
      callOf({ ...call, params, notify: notification => list.push(notification) }),
      signal,
    )
  })
  await Promise.all(calls)
  const progress = (step: number, total: number) => ({
    method: 'notifications/progress',
    params: { progressToken: 'same', progress: step, total },
  })
  assert.deepEqual(heard[0], [progress(1, 2), progress(2, 2)])
  assert.deepEqual(heard[1], [progress(1, 3), progress(2, 3), progress(3, 3)])
})

test('everything except the progress token reaches the server unchanged', async t => {
  const { session } = await open(t, 'polite')
  const params = { name: 'arguments', arguments: { deep: [1, { a: null }] }, _meta: { 'x.y/z': 1 } }
  const answer = await session.request(callOf({ method: 'tools/call', params, maxBytes: MIB }), signal)
  assert.deepEqual(JSON.parse(textOf(answer)), params)
})

test('ping of the server is answered, and other requests with method not found', async t => {
  const { session } = await open(t, 'polite')
  for (const method of ['ping', 'sampling/createMessage', 'roots/list'])
    await session.request(toolCall('ask', { method }), signal)
  const seen = JSON.parse(textOf(await session.request(toolCall('seen'), signal))) as {
    id?: string
    error?: { code: number }
  }[]
  assert.deepEqual(
    seen.find(({ id }) => id === 'ask-ping'),
    { jsonrpc: '2.0', id: 'ask-ping', result: {} },
  )
  for (const id of ['ask-sampling/createMessage', 'ask-roots/list'])
    assert.equal(seen.find(other => other.id === id)?.error?.code, -32601)
})

test('a changed list is reported', async t => {
  const { session, changed } = await open(t, 'polite')
  await session.request(toolCall('change', { name: 'new' }), signal)
  assert.deepEqual(changed, ['tools'])
})

test('calls to a server that does not read can be cancelled, and fail when it ends', async t => {
  const { session } = await open(t, 'deaf')
  const impatient = new AbortController()
  const long = 'x'.repeat(100_000)
  const early = Array.from({ length: 10 }, () =>
    faultOf(session.request(toolCall('echo', { text: long }), signal)),
  )
  const gone = faultOf(session.request(toolCall('echo', { text: long }), impatient.signal))
  impatient.abort()
  assert.equal((await gone).code, 'cancelled')
  await session.stop()
  for (const fault of await Promise.all(early)) assert.equal(fault.code, 'upstream_died')
})

test('a server that closes its output in a call is ended, and the call is answered', async t => {
  const { session } = await open(t, 'close-stdout')
  assert.equal((await faultOf(session.request(toolCall('echo'), signal))).code, 'upstream_died')
})

test('faults contain no secrets of the environment', async t => {
  const { session } = await open(t, 'polite', { secrets: ['hunter2'] })
  const fault = await faultOf(session.request(toolCall('die', { last: 'login with hunter2 failed' }), signal))
  assert.match(fault.message, /login with \[redacted\] failed/)
})

test('a server that floods its output with garbage is read slowly, and calls are still answered', async t => {
  const started = performance.now()
  const { session, warnings } = await open(t, 'late-garbage-flood')
  for (let round = 0; round < 3; round++)
    assert.equal(textOf(await session.request(toolCall('echo', { text: 'here' }), signal)), 'here')
  await until(() => warnings.length === 5)
  assert.ok(performance.now() - started > 1_000, '10,000 lines take two seconds')
})

test('a server that asks too long a question without reading can die before the refusal is sent', async t => {
  const { session, warnings } = await open(t, 'polite')
  const pid = Number(textOf(await session.request(toolCall('pid'), signal)))
  await session.request(toolCall('ask_unread', { bytes: 5 * MIB }), signal)
  const unread = faultOf(session.request(toolCall('echo', { text: 'x'.repeat(5 * MIB) }), signal))
  await until('the question was read', () => warnings.length > 0)
  process.kill(pid, 'SIGKILL')
  assert.equal((await unread).code, 'upstream_died')
  await session.ended
})

test('a refused subscription is not left open at the server', async t => {
  const { session } = await open(t, 'modern-listens', { shared: true })
  for (let tries = 0; tries < 2; tries++)
    assert.equal(errorOf(await session.subscribe('note://one', signal)).code, -32602)
  const seen = JSON.parse(textOf(await session.request(toolCall('seen'), signal))) as { method: string }[]
  assert.deepEqual(
    seen.map(({ method }) => method),
    ['notifications/cancelled', 'notifications/cancelled'],
  )
})
