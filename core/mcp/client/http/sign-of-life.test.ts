/** An upstream that dies while nobody calls it is noticed within a minute, by cheap requests. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { callOf } from '../../../../test/support/call.ts'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { until } from '../../../../test/support/until.ts'
import { startAskingModern } from '../../../../test/upstreams/http/asking-modern.ts'
import { answer, type Behaviour, hang, raw, startRude } from '../../../../test/upstreams/http/rude.ts'
import { OURSELVES } from '../../caller.ts'
import { DISCOVERY, type UpstreamEvent } from '../../upstream.ts'
import { createHttpUpstream } from './streamable.ts'

const never = new AbortController().signal

test('an idle server is pinged every half minute, and reported only when it is gone', async t => {
  const { clock, events, server, pings, waits } = await begin(t, { ping: answer({}) })
  for (let asked = 1; asked <= 3; asked++) {
    clock.advance(30_000)
    await until(() => waits() === asked + 1)
  }
  assert.equal(pings(), 3)
  assert.deepEqual(events, [])
  await server.close()
  clock.advance(30_000)
  await until(() => events.length > 0)
  assert.partialDeepStrictEqual(events, [{ kind: 'state', state: 'failed', reason: 'Unreachable' }])
  clock.advance(60_000)
  assert.equal(waits(), 4)
})

test('a server that answers calls is not pinged', async t => {
  const { clock, upstream, pings } = await begin(t, {
    ping: answer({}),
    'tools/call': answer({ content: [] }),
  })
  for (let calls = 0; calls < 4; calls++) {
    clock.advance(20_000)
    await upstream.request(callOf({ method: 'tools/call', maxBytes: 1e6 }), never)
  }
  assert.equal(pings(), 0)
})

test('a hanging server is reported after 50 s, and again when it answers', async t => {
  const behaviours: Record<string, Behaviour> = { ping: hang, 'tools/list': hang }
  const { clock, events, upstream, server } = await begin(t, behaviours)
  clock.advance(30_000)
  await server.logged('POST ping')
  clock.advance(10_000)
  await server.logged('POST tools/list')
  assert.deepEqual(events, [])
  clock.advance(10_000)
  await until(() => events.length > 0)
  assert.partialDeepStrictEqual(events.splice(0), [{ state: 'failed', reason: 'Unreachable' }])
  await upstream.connect(never)
  assert.deepEqual(
    events.map((event: UpstreamEvent) => event.kind === 'state' && event.state),
    ['starting', 'ready'],
  )
})

test('a server that handles one request at a time is not reported during a call', async t => {
  const { clock, events, upstream, server, waits } = await begin(t, {
    ping: hang,
    'tools/list': hang,
    'tools/call': hang,
  })
  const stop = new AbortController()
  const calling = upstream.request(callOf({ method: 'tools/call', maxBytes: 1e6 }), stop.signal)
  await server.logged('POST tools/call')
  events.splice(0)
  clock.advance(30_000)
  await server.logged('POST ping')
  clock.advance(10_000)
  await server.logged('POST tools/list')
  clock.advance(10_000)
  await until(() => waits() === 2)
  assert.deepEqual(events, [])
  stop.abort()
  await assert.rejects(calling)
})

test('a hanging server is reported although somebody is subscribed to a resource', async t => {
  const behaviours = { ping: hang, 'tools/list': hang, 'resources/subscribe': answer({}) }
  const { clock, events, upstream, server } = await begin(t, behaviours)
  const onUpdate = () => {}
  const subscription = { uri: 'note://one', caller: OURSELVES, onUpdate }
  assert.equal((await upstream.subscribe?.(subscription, never))?.error, undefined)
  events.splice(0)
  clock.advance(30_000)
  await server.logged('POST ping')
  clock.advance(10_000)
  await server.logged('POST tools/list')
  clock.advance(10_000)
  await until(() => events.length > 0)
  assert.partialDeepStrictEqual(events, [{ state: 'failed', reason: 'Unreachable' }])
})

test('a server that ignores pings gets another request; one that refuses them is alive', async t => {
  const deaf = await begin(t, { ping: hang, 'tools/list': answer({ tools: [] }) })
  deaf.clock.advance(30_000)
  await deaf.server.logged('POST ping')
  deaf.clock.advance(10_000)
  await until(() => deaf.waits() === 2)
  deaf.clock.advance(30_000)
  await until(() => deaf.waits() === 3)
  assert.deepEqual([deaf.pings(), deaf.events], [1, []])
  const refusing = await begin(t, { ping: raw(500, 'text/plain', 'no') })
  refusing.clock.advance(30_000)
  await until(() => refusing.waits() === 2)
  assert.deepEqual(refusing.events, [])
})

test('a server of the newer era is checked with server/discover', async t => {
  const server = await startAskingModern('modern')
  const { clock } = await watched(t, server)
  const asked = () => server.requests.filter(({ body }) => body.method === 'server/discover').length
  const before = asked()
  clock.advance(30_000)
  await until(() => asked() === before + 1)
  assert.equal(server.requests.filter(({ body }) => body.method === 'ping').length, 0)
})

async function begin(t: TestContext, behaviours: Record<string, Behaviour>) {
  const server = await startRude(behaviours)
  const pings = () => server.log.filter(entry => entry === 'POST ping').length
  return { server, pings, ...(await watched(t, server)) }
}

/** A connected upstream, and the events that it emits from then on. */
async function watched(t: TestContext, server: { url: string; close(): Promise<void> }) {
  const clock = createManualClock()
  // How often the upstream has begun to wait for the next check.
  const waits = () => clock.started(30_000)
  const spec = {
    url: server.url,
    transport: 'streamable-http',
    sessions: 'shared',
    startTimeoutMs: 5_000,
  } as const
  const upstream = createHttpUpstream(spec, { clock, random: () => 0.5, watchesLife: true })
  t.after(() => Promise.all([upstream.close(), server.close()]))
  await upstream.connect(never)
  await upstream.request({ method: 'nothing/known', caller: DISCOVERY, maxBytes: 1e6 }, never).catch(() => {})
  const events: UpstreamEvent[] = []
  upstream.onEvent(event => void events.push(event))
  await until(() => waits() === 1)
  return { clock, upstream, events, waits }
}
