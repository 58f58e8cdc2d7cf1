/** The life of stdio upstreams: start, sleep, crash, and one child for each client. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callOf } from '../../../../test/support/call.ts'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { until } from '../../../../test/support/until.ts'
import { isGroupAlive, rudeCommand, textOf, toolCall } from '../../../../test/upstreams/rude/rude.ts'
import { type Clock, systemClock } from '../../../async.ts'
import { Fault } from '../../../errors.ts'
import type { UpstreamEvent } from '../../upstream.ts'
import { createStdioUpstream, type StdioSpec } from './stdio-upstream.ts'

const { signal } = new AbortController()
const STATES_SHOWN = 200

/** A rude server as an upstream, with the events that it emits; closed after the test. */
function open(
  t: { after(end: () => Promise<void>): void },
  mode: string,
  { clock = systemClock, ...spec }: Partial<StdioSpec> & { clock?: Clock } = {},
) {
  const upstream = createStdioUpstream(
    {
      ...rudeCommand(mode),
      sessions: 'shared',
      startTimeoutMs: 20_000,
      idleAfterMs: 180_000,
      min: 0,
      ...spec,
    },
    { clock, random: () => 0 },
  )
  const events: UpstreamEvent[] = []
  upstream.onEvent(event => events.push(event))
  t.after(() => upstream.close())
  const states = () =>
    events.flatMap(event => (event.kind === 'state' ? [event.state] : [])).slice(-STATES_SHOWN)
  const pid = async (client?: string) =>
    Number(textOf(await upstream.request(callOf({ ...toolCall('pid'), client }), signal)))
  return { upstream, events, states, pid }
}

const faultOf = (work: Promise<unknown>): Promise<Fault> =>
  work.then(
    () => assert.fail('it should have failed'),
    error => (error instanceof Fault ? error : assert.fail(error)),
  )

test('concurrent first callers share one start, and nothing runs before them', async t => {
  const { upstream, states, pid } = open(t, 'slow-start')
  assert.equal(upstream.state, 'asleep')
  const pids = await Promise.all([pid(), pid(), pid(), upstream.connect(signal).then(() => pid())])
  assert.equal(new Set(pids).size, 1)
  assert.deepEqual(states(), ['starting', 'ready'])
})

test('the process of a server without calls ends, and the next call starts it', async t => {
  const clock = createManualClock()
  const { states, pid } = open(t, 'polite', { clock, idleAfterMs: 1_000 })
  const first = await pid()
  clock.advance(900)
  assert.equal(await pid(), first)
  clock.advance(900)
  assert.equal(isGroupAlive(first), true, 'the last call was 900 ms ago')
  clock.advance(200)
  assert.deepEqual(states(), ['starting', 'ready', 'asleep'])
  await until(() => !isGroupAlive(first))
  assert.notEqual(await pid(), first)
  assert.deepEqual(states(), ['starting', 'ready', 'asleep', 'starting', 'ready'])
})

test('a server with a call in flight does not sleep', async t => {
  const clock = createManualClock()
  const { upstream, pid, states } = open(t, 'polite', { clock, idleAfterMs: 1_000 })
  await pid()
  const slow = upstream.request(toolCall('sleep', { ms: 100 }), signal)
  clock.advance(5_000)
  assert.equal(textOf(await slow), 'slept')
  assert.deepEqual(states(), ['starting', 'ready'])
})

test('when a client leaves, only its child ends', async t => {
  const { upstream, pid } = open(t, 'polite', { sessions: 'perClient' })
  const [ann, bob] = [await pid('ann'), await pid('bob')]
  upstream.forget?.('ann')
  upstream.forget?.('eve')
  await until(() => !isGroupAlive(ann))
  assert.equal(await pid('bob'), bob)
  const shared = open(t, 'polite')
  const one = await shared.pid('ann')
  shared.upstream.forget?.('ann')
  assert.equal(await shared.pid('ann'), one)
})

test('a server that is kept running starts without a call and never sleeps', async t => {
  const clock = createManualClock()
  const { upstream, states, pid } = open(t, 'polite', { clock, idleAfterMs: 1_000, min: 1 })
  await until(() => upstream.state === 'ready')
  clock.advance(1_000_000)
  await pid()
  assert.deepEqual(states(), ['starting', 'ready'])
})

test('calls in flight fail when the server dies, and it restarts at once', async t => {
  const clock = createManualClock()
  const { upstream, states, pid } = open(t, 'polite', { clock })
  const before = await pid()
  const calls = [toolCall('hang'), toolCall('hang'), toolCall('die', { code: 7, last: 'out of memory' })]
  for (const fault of await Promise.all(calls.map(call => faultOf(upstream.request(call, signal))))) {
    assert.equal(fault.code, 'upstream_died')
    assert.equal(fault.details.exitCode, 7)
    assert.match(fault.message, /exit code 7: out of memory/)
  }
  assert.notEqual(await pid(), before)
  assert.deepEqual(states(), ['starting', 'ready', 'starting', 'ready'])
})

test('the error after kill -9 of a server names the signal, and the next call succeeds', async t => {
  const { upstream, pid } = open(t, 'polite')
  const hanging = faultOf(upstream.request(toolCall('hang'), signal))
  process.kill(await pid(), 'SIGKILL')
  assert.equal((await hanging).details.signal, 'SIGKILL')
  await pid()
})

test('a server that keeps crashing is restarted with growing delays, and calls fail at once meanwhile', async t => {
  const clock = createManualClock()
  const { upstream, events, states, pid } = open(t, 'polite', { clock })
  const crash = () => faultOf(upstream.request(toolCall('die', { last: 'segmentation fault' }), signal))
  await crash()
  assert.equal((await crash()).code, 'upstream_died')
  await until(() => upstream.state === 'failed')
  const fault = await faultOf(pid())
  assert.equal(fault.code, 'upstream_starting')
  assert.deepEqual(fault.details, { reason: 'CrashLooping', retryInMs: 500 })
  assert.match(fault.message, /segmentation fault \(started again in 0\.5 s\)/)
  const failed = events.find(event => event.kind === 'state' && event.state === 'failed')
  assert.ok(failed?.kind === 'state' && failed.state === 'failed')
  assert.equal(failed.reason, 'CrashLooping')
  assert.deepEqual(failed.stderr, ['segmentation fault'])
  clock.advance(500)
  await pid()
  assert.deepEqual(states(), ['starting', 'ready', 'starting', 'ready', 'failed', 'ready'])
  await crash()
  await until(() => upstream.state === 'failed')
  assert.equal((await faultOf(pid())).details.retryInMs, 1_000)
})

test('a server that ran for a minute is restarted at once after a crash, whatever happened before', async t => {
  const clock = createManualClock()
  const { upstream, pid, states } = open(t, 'polite', { clock })
  const crash = () => faultOf(upstream.request(toolCall('die'), signal))
  await crash()
  await pid()
  clock.advance(60_000)
  await crash()
  await pid()
  assert.ok(!states().includes('failed'))
})

for (const [mode, reason, message] of [
  ['exit-0', 'ExitedAtStart', /exit code 0 before it was ready/],
  ['exit-1', 'ExitedAtStart', /exit code 1 before it was ready: cannot open the database/],
  ['refuse-initialize', 'HandshakeFailed', /GITHUB_TOKEN is not set/],
  ['wrong-version', 'HandshakeFailed', /1999-01-01/],
  ['garbage-flood', 'NotMcp', /this is not JSON/],
] as const)
  test(`a server of mode ${mode} fails to start with reason ${reason}`, async t => {
    const { upstream, states } = open(t, mode)
    const fault = await faultOf(upstream.connect(signal))
    assert.equal(fault.details.reason, reason)
    assert.match(fault.message, message)
    assert.deepEqual(states(), ['starting', 'failed'])
  })

test('a server that never answers initialize fails after the start timeout; callers can cancel before', async t => {
  const clock = createManualClock()
  const { upstream } = open(t, 'hang-initialize', { clock, startTimeoutMs: 5_000 })
  const leaving = new AbortController()
  const cancelled = faultOf(upstream.connect(leaving.signal))
  const waiting = faultOf(upstream.connect(signal))
  leaving.abort()
  assert.equal((await cancelled).code, 'cancelled')
  clock.advance(5_000)
  const fault = await waiting
  assert.equal(fault.code, 'upstream_timeout')
  assert.equal(fault.details.reason, 'StartTimeout')
  clock.advance(500)
})

test('a command that does not write MCP messages is reported as such after the start timeout', async t => {
  const { upstream } = open(t, 'only-garbage', { startTimeoutMs: 700 })
  const fault = await faultOf(upstream.connect(signal))
  assert.equal(fault.details.reason, 'NotMcp')
  assert.match(fault.message, /Usage: rude/)
})

test('the error for a missing command names it', async t => {
  const { upstream } = open(t, '', { command: 'no-such-command' })
  const fault = await faultOf(upstream.connect(signal))
  assert.equal(fault.code, 'upstream_unreachable')
  assert.equal(fault.details.reason, 'CommandNotFound')
  assert.match(fault.message, /no-such-command/)
})

test('a server that cannot start is retried, and reported as crash looping', async t => {
  const clock = createManualClock()
  const { upstream, events } = open(t, 'exit-1', { clock })
  await faultOf(upstream.connect(signal))
  clock.advance(500)
  await until(() =>
    events.some(event => event.kind === 'state' && 'reason' in event && event.reason === 'CrashLooping'),
  )
  assert.equal((await faultOf(upstream.connect(signal))).details.retryInMs, 1_000)
})

test('closing ends the process, calls in flight and pending starts', async t => {
  const { upstream, pid, states } = open(t, 'ignore-term')
  const group = await pid()
  const hanging = faultOf(upstream.request(toolCall('hang'), signal))
  await upstream.close()
  assert.equal((await hanging).code, 'upstream_died')
  assert.equal(isGroupAlive(group), false)
  assert.equal((await faultOf(upstream.connect(signal))).code, 'upstream_died')
  assert.deepEqual(states(), ['starting', 'ready'])

  const starting = open(t, 'slow-start').upstream
  const caller = faultOf(starting.connect(signal))
  await starting.close()
  assert.equal((await caller).code, 'upstream_died')
})

test('each client has its own child, and so does each call without a client', async t => {
  const { pid } = open(t, 'polite', { sessions: 'perClient' })
  const [a, again, b, unnamed, other] = await Promise.all([pid('a'), pid('a'), pid('b'), pid(), pid()])
  assert.equal(a, again)
  assert.equal(new Set([a, b, unnamed, other]).size, 4)
  await until(() => !isGroupAlive(unnamed) && !isGroupAlive(other))
  assert.ok(isGroupAlive(a) && isGroupAlive(b))
})

test('at maxClients the child that was idle longest ends; if all are busy, the call is refused', async t => {
  const { upstream, pid } = open(t, 'polite', { sessions: 'perClient', maxClients: 2 })
  const [a, b] = [await pid('a'), await pid('b')]
  await pid('a')
  const c = await pid('c')
  await until(() => !isGroupAlive(b))
  assert.equal(await pid('a'), a)
  const hanging = ['a', 'c'].map(client =>
    faultOf(upstream.request(callOf({ ...toolCall('hang'), client }), signal)),
  )
  const refused = await faultOf(pid('d'))
  assert.equal(refused.code, 'upstream_busy')
  assert.deepEqual(refused.details, { sessions: 2 })
  assert.ok(isGroupAlive(a) && isGroupAlive(c))
  await upstream.close()
  await Promise.all(hanging)
})

test('a child with subscriptions does not end to make room for another', async t => {
  const command = rudeCommand('ends-listens', 'polite')
  const { upstream, pid } = open(t, 'polite', { ...command, sessions: 'perClient', maxClients: 2 })
  const { caller } = callOf({ method: 'ping', client: 'a' })
  const subscription = { uri: 'note://one', caller, onUpdate: () => {} }
  assert.deepEqual(await upstream.subscribe?.(subscription, signal), { result: {} })
  const a = await pid('a')
  const b = await pid('b')
  await pid('c')
  await until(() => !isGroupAlive(b))
  assert.ok(isGroupAlive(a))
})

test("the crash of one client's child does not affect others", async t => {
  const clock = createManualClock()
  const { upstream, pid, states } = open(t, 'polite', { sessions: 'perClient', clock })
  const a = await pid('a')
  const crash = () => faultOf(upstream.request(callOf({ ...toolCall('die'), client: 'b' }), signal))
  await crash()
  await crash()
  assert.equal((await faultOf(pid('b'))).code, 'upstream_starting')
  assert.equal(await pid('a'), a)
  assert.deepEqual(states(), ['starting', 'ready'])
  clock.advance(500)
  await pid('b')
})

test('the child of each client goes to sleep independently', async t => {
  const clock = createManualClock()
  const { states, pid } = open(t, 'polite', { sessions: 'perClient', clock, idleAfterMs: 1_000 })
  const a = await pid('a')
  clock.advance(600)
  const b = await pid('b')
  clock.advance(600)
  await until(() => !isGroupAlive(a))
  assert.ok(isGroupAlive(b))
  assert.deepEqual(states(), ['starting', 'ready'])
  clock.advance(600)
  assert.deepEqual(states(), ['starting', 'ready', 'asleep'])
})
