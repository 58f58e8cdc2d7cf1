/** An upstream that is created on first use: once for concurrent callers, again after a failure, never after close. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../core/async.ts'
import { Fault } from '../core/errors.ts'
import { createCaller } from '../core/mcp/caller.ts'
import { connectRemote } from '../core/mcp/client/connect.ts'
import { createStdioUpstream } from '../core/mcp/client/stdio/stdio-upstream.ts'
import type { Notification } from '../core/mcp/protocol/json-rpc.ts'
import type { UpstreamEvent } from '../core/mcp/upstream.ts'
import { createManualClock } from '../test/support/manual-clock.ts'
import { ANSWERS, askingCommand, CAN_ALL, NOTE_URI } from '../test/upstreams/asking/questions.ts'
import { startRude } from '../test/upstreams/http/rude.ts'
import { toolCall } from '../test/upstreams/rude/rude.ts'
import { LazyUpstream } from './lazy-upstream.ts'

const patient = () => AbortSignal.timeout(5_000)

test('concurrent callers create one upstream, and its events are passed on', async t => {
  const server = await startRude({})
  t.after(() => server.close())
  let made = 0
  const lazy = new LazyUpstream(async () => {
    made++
    const spec = {
      url: server.url,
      transport: 'streamable-http',
      sessions: 'shared',
      startTimeoutMs: 5_000,
    } as const
    return connectRemote(spec, { clock: systemClock })
  }, systemClock)
  const states: string[] = []
  lazy.onEvent(event => event.kind === 'state' && states.push(event.state))
  const infos = await Promise.all([lazy.connect(patient()), lazy.connect(patient())])
  assert.equal(infos[0].protocolVersion, '2025-11-25')
  assert.equal(made, 1)
  assert.equal(states.at(-1), 'ready')
  await lazy.close()
  await assert.rejects(lazy.connect(patient()), Fault)
})

test('a failed creation is reported, and retried only after a delay', async () => {
  const clock = createManualClock()
  let tries = 0
  const lazy = new LazyUpstream(async () => {
    tries++
    throw new Fault('io', `try ${tries}`, { details: { reason: 'InstallFailed' } })
  }, clock)
  const events: UpstreamEvent[] = []
  lazy.onEvent(event => events.push(event))
  await assert.rejects(lazy.connect(patient()), /try 1/)
  await assert.rejects(lazy.connect(patient()), /try 1/)
  assert.deepEqual(events.at(-1), {
    kind: 'state',
    state: 'failed',
    reason: 'InstallFailed',
    message: 'try 1',
  })
  clock.advance(5_000)
  await assert.rejects(lazy.connect(patient()), /try 2/)
})

test('a failure from before the clock was set back is repeated no longer than others', async () => {
  const clock = createManualClock(10_000_000)
  let tries = 0
  const lazy = new LazyUpstream(() => Promise.reject(new Fault('io', `try ${++tries}`)), clock)
  await assert.rejects(lazy.connect(patient()), /try 1/)
  clock.setBack(3_600_000)
  clock.advance(5_000)
  await assert.rejects(lazy.connect(patient()), /try 2/)
})

test('a caller that cancels stops waiting, and the creation continues for others', async () => {
  let fail = (_: Error) => {}
  const lazy = new LazyUpstream(() => new Promise((_, reject) => (fail = reject)), systemClock)
  const leaving = new AbortController()
  const left = lazy.connect(leaving.signal)
  const staying = lazy.connect(patient())
  leaving.abort()
  await assert.rejects(left, { code: 'cancelled' })
  fail(new Fault('io', 'late'))
  await assert.rejects(staying, /late/)
})

test('subscriptions and notifications in both directions are passed on, before and after the upstream is created', async t => {
  const lazy = new LazyUpstream(async () => {
    const life = { sessions: 'perClient', startTimeoutMs: 20_000, idleAfterMs: 60_000, min: 0 } as const
    return createStdioUpstream({ ...askingCommand('legacy'), ...life }, { clock: systemClock })
  }, systemClock)
  t.after(() => lazy.close())
  const asked: string[] = []
  const updated = Promise.withResolvers<Notification>()
  const logged = Promise.withResolvers<Notification>()
  lazy.tell('ann', { method: 'notifications/roots/list_changed' })
  lazy.attach({
    notified: (_client, notification) => logged.resolve(notification),
    asked: async (client, { method }) => {
      asked.push(`${client} ${method}`)
      return { result: ANSWERS.roots }
    },
  })
  const caller = createCaller({ client: 'ann', capabilities: CAN_ALL })
  const subscription = { caller, uri: NOTE_URI, onUpdate: updated.resolve }
  assert.deepEqual(await lazy.subscribe(subscription, patient()), { result: {}, resultText: '{}' })
  await lazy.request({ ...toolCall('touch'), caller }, patient())
  assert.equal((await updated.promise).params?.uri, NOTE_URI)
  lazy.tell('ann', { method: 'notifications/roots/list_changed' })
  assert.equal((await logged.promise).params?.level, 'emergency')
  assert.deepEqual(asked, ['ann roots/list'])
})
