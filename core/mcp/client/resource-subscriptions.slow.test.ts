/** Resources of upstreams of both eras: one subscription for all subscribers, renewed after a failure. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { until } from '../../../test/support/until.ts'
import { type AskingLegacy, startAskingLegacy } from '../../../test/upstreams/http/asking-legacy.ts'
import { startAskingModern } from '../../../test/upstreams/http/asking-modern.ts'
import { answer, startRude } from '../../../test/upstreams/http/rude.ts'
import { type Clock, systemClock } from '../../async.ts'
import { type Caller, createCaller, OURSELVES } from '../caller.ts'
import type { Notification } from '../protocol/json-rpc.ts'
import type { Upstream, UpstreamEvent } from '../upstream.ts'
import { connectRemote } from './connect.ts'
import type { RemoteSpec } from './http/spec.ts'
import { MAX_RESOURCES } from './resource-subscriptions.ts'

const never = new AbortController().signal
const ONE = 'note://one'
const TWO = 'note://two'

type Test = { after(run: () => Promise<unknown>): void }
type Server = { url: string; close(): Promise<void> }
type More = { transport?: RemoteSpec['transport']; sessions?: RemoteSpec['sessions']; clock?: Clock }

function upstreamOf(t: Test, server: Server, more: More = {}): Upstream {
  const { transport = 'streamable-http', sessions = 'shared', clock = systemClock } = more
  const spec = { url: server.url, transport, sessions, startTimeoutMs: 5_000 }
  const upstream = connectRemote(spec, { clock, random: () => 1 })
  t.after(() => Promise.all([upstream.close(), server.close()]))
  return upstream
}

/** Subscribes to a resource; `next` waits for the uri of the next update. */
async function subscribe(upstream: Upstream, uri: string, more: Partial<Caller> = {}) {
  const updates: string[] = []
  const stop = new AbortController()
  const onUpdate = ({ params }: Notification) => void updates.push(String(params?.uri))
  const answered = await upstream.subscribe?.({ uri, onUpdate, caller: createCaller(more) }, stop.signal)
  const next = async () => {
    await until(() => updates.length > 0)
    return updates.shift()
  }
  return { answered, updates, next, stop: () => stop.abort() }
}

for (const transport of ['streamable-http', 'sse'] as const) {
  test(`a resource of an older server over ${transport} is subscribed to once for all subscribers`, async t => {
    const server = await startAskingLegacy(transport)
    const upstream = upstreamOf(t, server, { transport })
    const [ann, bob] = [await subscribe(upstream, ONE), await subscribe(upstream, ONE)]
    assert.deepEqual(ann.answered, { result: {}, resultText: '{}' })
    await server.touch(ONE)
    assert.deepEqual([await ann.next(), await bob.next()], [ONE, ONE])
    ann.stop()
    await server.touch(ONE)
    assert.equal(await bob.next(), ONE)
    assert.deepEqual(ann.updates, [])
    bob.stop()
    await server.heard.logged(`unsubscribe ${ONE}`)
    assert.deepEqual(server.heard.entries, [`subscribe ${ONE}`, `unsubscribe ${ONE}`])
  })

  test(`subscriptions over ${transport} are renewed in the next session, and reported as changed`, async t => {
    const server = await startAskingLegacy(transport)
    const clock = createManualClock()
    const upstream = upstreamOf(t, server, { transport, clock })
    const subscribed = await subscribe(upstream, ONE)
    await server.breakOff()
    const { updates } = subscribed
    await until(() => {
      if (updates.length === 0) clock.advance(100)
      return updates.length > 0
    })
    assert.equal(await subscribed.next(), ONE)
    await server.touch(ONE)
    assert.equal(await subscribed.next(), ONE)
  })
}

test('each client subscribes on its own session, and its subscriptions end with the session', async t => {
  const server = await startAskingLegacy('streamable-http')
  const upstream = upstreamOf(t, server, { sessions: 'perClient' })
  const [ann, bob] = [
    await subscribe(upstream, ONE, { client: 'ann' }),
    await subscribe(upstream, ONE, { client: 'bob' }),
  ]
  await server.touch(ONE)
  assert.deepEqual([await ann.next(), await bob.next()], [ONE, ONE])
  upstream.forget?.('ann')
  await server.log.logged('DELETE')
  await server.touch(ONE)
  assert.equal(await bob.next(), ONE)
  assert.deepEqual(ann.updates, [])
})

test('a refused subscription is answered with an error, an accepted one without', async t => {
  const older = upstreamOf(t, await startAskingLegacy('streamable-http'))
  assert.match((await subscribe(older, 'note://none')).answered?.error?.message ?? '', /No such note/)
  const accepting = await startRude({ 'subscriptions/listen': answer({}), 'resources/subscribe': answer({}) })
  assert.equal((await subscribe(upstreamOf(t, accepting), ONE)).answered?.error, undefined)
})

test('all subscriptions at a newer server share one stream, which is replaced before the old one ends', async t => {
  const server = await startAskingModern('modern')
  const upstream = upstreamOf(t, server)
  const one = await subscribe(upstream, ONE)
  assert.deepEqual(one.answered, { result: {} })
  const [two, again] = await Promise.all([subscribe(upstream, TWO), subscribe(upstream, ONE)])
  server.touch(ONE)
  assert.deepEqual([await one.next(), await again.next()], [ONE, ONE])
  server.touch(TWO)
  assert.equal(await two.next(), TWO)
  const listens = () => server.log.entries.filter(entry => entry.endsWith('subscriptions/listen'))
  await until(() => listens().length === 3)
  assert.deepEqual(listens(), [
    'POST subscriptions/listen',
    'POST subscriptions/listen',
    'closed subscriptions/listen',
  ])
  for (const subscribed of [one, two, again]) subscribed.stop()
  await until(() => listens().filter(entry => entry.startsWith('closed')).length > 1)
  server.touch(ONE)
  assert.deepEqual([...one.updates, ...two.updates, ...again.updates], [])
})

test('the stream of a newer server is opened again after it broke, and its resources are reported as changed', async t => {
  const clock = createManualClock()
  const server = await startAskingModern('modern')
  const upstream = upstreamOf(t, server, { clock })
  const subscribed = await subscribe(upstream, ONE)
  server.breakStreams()
  await until(() => clock.pending() > 0)
  clock.advance(1_000)
  assert.equal(await subscribed.next(), ONE)
  server.touch(ONE)
  assert.equal(await subscribed.next(), ONE)
})

test('list_changed of a newer server reaches listeners', async t => {
  const server = await startAskingModern('modern')
  const upstream = upstreamOf(t, server)
  const heard: UpstreamEvent[] = []
  upstream.onEvent(event => event.kind === 'listChanged' && heard.push(event))
  await upstream.connect(never)
  await until(() => {
    server.grow()
    return heard.length > 0
  })
  assert.deepEqual(heard[0], { kind: 'listChanged', list: 'tools' })
})

test('subscriptions to more resources than the limit are refused', async t => {
  const server = await startAskingLegacy('streamable-http')
  const upstream = upstreamOf(t, server)
  const uris = Array.from({ length: MAX_RESOURCES }, (_, at) => `note://${at}`)
  const subscribed = await Promise.all(uris.map(uri => subscribe(upstream, uri)))
  await assert.rejects(subscribe(upstream, ONE), { code: 'upstream_busy' })
  subscribed[0]?.stop()
  await subscribe(upstream, ONE)
})

test('a subscriber that has left before its request leaves no subscription at the server', async t => {
  const server = await startAskingLegacy('streamable-http')
  const upstream = upstreamOf(t, server)
  await assert.rejects(
    async () =>
      upstream.subscribe?.(
        { uri: ONE, caller: OURSELVES, onUpdate: () => assert.fail() },
        AbortSignal.abort(),
      ),
    { code: 'cancelled' },
  )
  await subscribedNowhere(server)
})

async function subscribedNowhere({ heard }: AskingLegacy): Promise<void> {
  await until(() => heard.entries.length === 0 || heard.entries.at(-1) === `unsubscribe ${ONE}`)
}
