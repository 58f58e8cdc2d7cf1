/** Subscriptions that live longer than their upstreams, and the notifications of clients' own sessions. */
import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import type { RouterConfig, RouterServer } from '../../core/catalog/router-config.ts'
import { Fault } from '../../core/errors.ts'
import { createCaller, OURSELVES } from '../../core/mcp/caller.ts'
import { ANONYMOUS } from '../../core/mcp/identity.ts'
import type { McpResponse, Notification } from '../../core/mcp/protocol/json-rpc.ts'
import type { SessionListener, Subscription } from '../../core/mcp/upstream.ts'
import { LOCAL_USER } from '../../core/mcp/user.ts'
import { echo, serverOf, snapshotOf, upstreamOf } from '../../test/meta/fixture.ts'
import { callOf } from '../../test/support/call.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { WakeRequests } from '../waking/wake-requests.ts'
import { createPool } from './pool.ts'
import { PoolMember } from './pool-member.ts'
import { createSubscriptions } from './subscriptions.ts'
import { UserMember } from './user-member.ts'

const ACCEPTED: McpResponse = { result: {} }
const URI = 'file:///a'
const NO_LISTENER: SessionListener = { notified() {}, asked: () => undefined }
const UPDATED = { method: 'notifications/resources/updated', params: { uri: URI } }

test('a subscription gets updates until its signal aborts, also if that takes longer than the time limit of calls', async () => {
  const { pool, clock, subscribed } = start()
  const { updates, stop, response } = subscribe(pool)
  assert.deepEqual(await response, ACCEPTED)
  clock.advance(24 * 60 * 60_000)
  subscribed.at(-1)?.subscription.onUpdate(UPDATED)
  assert.deepEqual(updates, [UPDATED])
  stop.abort()
  assert.equal(subscribed.at(-1)?.signal.aborted, true)
  assert.equal(clock.pending(), 0)
})

test('subscriptions are renewed when the connection of a server changes, and possibly missed updates are sent', async () => {
  const { pool, subscribed, update } = start()
  const { updates, response } = subscribe(pool)
  await response
  update('2')
  await turn()
  assert.deepEqual(
    subscribed.map(({ revision, signal }) => [revision, signal.aborted]),
    [
      ['1', true],
      ['2', false],
    ],
  )
  assert.deepEqual(updates, [UPDATED])
})

test('a server that is removed and added again is subscribed to again, and one that refuses is retried later', async () => {
  const { pool, clock, subscribed, update, answers } = start()
  const { updates, response, stop } = subscribe(pool)
  await response
  update(undefined)
  assert.equal(subscribed[0]?.signal.aborted, true)
  answers.push(new Fault('upstream_unreachable', 'down'), { error: { code: -32603, message: 'not yet' } })
  update('2')
  await turn()
  clock.advance(1_000)
  await turn()
  assert.deepEqual([subscribed.length, updates], [3, []])
  clock.advance(2_000)
  await turn()
  assert.deepEqual([subscribed.length, updates], [4, [UPDATED]])
  stop.abort()
  assert.equal(clock.pending(), 0)
})

test('attempts to subscribe again leave no listeners behind', async () => {
  const clock = createManualClock()
  let life: AbortSignal | undefined
  const upstream = {
    ...upstreamOf(echo),
    subscribe: async () => ({ error: { code: -32603, message: 'no' } }),
  }
  const options = {
    connect: () => upstream,
    clock,
    listener: NO_LISTENER,
    wakes: new WakeRequests({ clock }),
  }
  const once = { subscribe: async () => ACCEPTED }
  const user = new UserMember(LOCAL_USER, new PoolMember(serverOf('forge'), options), undefined, {
    ...{ clock, keepsTokens: false, lists: undefined },
    ...{ idleAfterMs: () => 24 * 60 * 60_000, onIdle() {} },
  })
  let member: Pick<PoolMember, 'subscribe'> = once
  const subscriptions = createSubscriptions(() => member, clock)
  const subscription = { uri: URI, caller: OURSELVES, onUpdate: () => {} }
  await subscriptions.subscribe('forge', subscription, new AbortController().signal)
  let attempts = 0
  member = {
    subscribe(given, signal) {
      attempts++
      life = signal
      return user.subscribe(given, signal)
    },
  }
  subscriptions.renew()
  while (attempts < 10) {
    await turn()
    clock.advance(60_000)
  }
  await turn()
  // That of the pause.
  assert.equal(getEventListeners(life as AbortSignal, 'abort').length, 1)
})

test('with auth, one caller may have a sixteenth of all subscriptions, and a new one after another has ended', async () => {
  const { pool, update } = start()
  const auth = { anonymous: false, revoked: [], jwt: [] }
  update('1', { access: { ...OPEN_ACCESS, auth } })
  const open = (name: string, signal = new AbortController().signal) => {
    const caller = createCaller({ identity: { ...ANONYMOUS, id: `token:${name}` } })
    return pool.subscribe('forge', { uri: URI, caller, onUpdate: () => {} }, signal)
  }
  const first = new AbortController()
  await open('ada', first.signal)
  for (let count = 1; count < 1_000; count++) await open('ada')
  await assert.rejects(open('ada'), { code: 'upstream_busy' })
  await open('ben')
  first.abort()
  await open('ada')
  await assert.rejects(open('ada'), { code: 'upstream_busy' })
  update('1')
  await open('ada')
})

test('a subscription that is refused at first is not kept or tried again', async () => {
  const { pool, clock, subscribed, update, answers } = start()
  answers.push({ error: { code: -32602, message: 'no' } }, new Fault('upstream_died', 'gone'))
  assert.deepEqual((await subscribe(pool).response).error?.message, 'no')
  await assert.rejects(subscribe(pool).response, { code: 'upstream_died' })
  update('2')
  await turn()
  assert.deepEqual([subscribed.length, clock.pending()], [2, 0])
})

test('if a server changes during the subscribe request, the new one is subscribed to, and the subscriber gets no error', async () => {
  const { pool, subscribed, update, answers } = start()
  answers.push('never')
  const { response, updates, stop } = subscribe(pool)
  await turn()
  update('2')
  assert.deepEqual(await response, ACCEPTED)
  await turn()
  assert.deepEqual([subscribed.map(({ revision }) => revision), updates], [['1', '2'], [UPDATED]])
  stop.abort()
  assert.equal(subscribed[1]?.signal.aborted, true)
})

test('a subscriber that leaves before or during the request leaves no subscription', async () => {
  const { pool, subscribed, update, answers } = start()
  const gone = { uri: URI, caller: OURSELVES, onUpdate: () => {} }
  await assert.rejects(pool.subscribe('forge', gone, AbortSignal.abort()), { code: 'cancelled' })
  answers.push('never')
  const { response, stop } = subscribe(pool)
  stop.abort()
  await assert.rejects(response, { code: 'cancelled' })
  update('2')
  await turn()
  assert.equal(subscribed.length, 1)
})

test('closing the pool ends its subscriptions, and later ones are rejected', async () => {
  const { pool, subscribed } = start()
  const { response } = subscribe(pool)
  await response
  await pool.close()
  assert.deepEqual([subscribed[0]?.signal.aborted, subscribed.length], [true, 1])
  await assert.rejects(subscribe(pool).response, { code: 'not_found' })
})

test('an upstream that does not answer in time does not keep the subscriber waiting', async () => {
  const { pool, clock, subscribed, answers } = start()
  answers.push('never')
  const { response } = subscribe(pool)
  response.catch(() => {})
  await turn()
  clock.advance(120_000)
  await assert.rejects(response, { code: 'upstream_timeout' })
  assert.equal(subscribed[0]?.signal.aborted, true)
})

test('a server without subscriptions answers with an error, and for an unknown server subscribe rejects', async () => {
  const pool = createPool({ connect: () => upstreamOf(echo), clock: createManualClock() })
  pool.update({ ...snapshotOf({}, {}, 1).config, servers: [serverOf('forge')] })
  const { signal } = new AbortController()
  const subscription = { uri: URI, caller: OURSELVES, onUpdate: () => {} }
  assert.equal((await pool.subscribe('forge', subscription, signal)).error?.code, -32602)
  await assert.rejects(pool.subscribe('gone', subscription, signal), { code: 'not_found' })
})

test("a client's notifications reach the running upstreams, and theirs reach the client's stream", async () => {
  const listeners: SessionListener[] = []
  const sent: unknown[] = []
  const connect = () => ({
    ...upstreamOf(echo),
    attach: (given: SessionListener) => void listeners.push(given),
    tell: (client: string, { method }: Notification) => void sent.push([client, method]),
  })
  const pool = createPool({ connect, clock: createManualClock() })
  pool.update({ ...snapshotOf({}, {}, 1).config, servers: [serverOf('forge'), serverOf('wiki')] })
  const { signal } = new AbortController()
  await pool.call('forge', callOf({ method: 'tools/list' }), signal)
  pool.tell('anna', { method: 'notifications/roots/list_changed' })
  assert.deepEqual(sent, [['anna', 'notifications/roots/list_changed']])

  const received: string[] = []
  pool.attach({ notified: client => void received.push(`first ${client}`), asked: () => undefined })
  pool.attach({
    notified: client => void received.push(`second ${client}`),
    asked: async client => ({ result: { for: client } }),
  })
  listeners[0]?.notified('anna', { method: 'notifications/message' })
  assert.deepEqual(received, ['first anna', 'second anna'])
  assert.deepEqual(await listeners[0]?.asked('carl', { method: 'roots/list' }, signal), {
    result: { for: 'carl' },
  })
})

type Subscribed = { revision: string; subscription: Subscription; signal: AbortSignal }

/** A server whose upstreams give the `answers` first, and then accept every subscription. */
function start() {
  const clock = createManualClock()
  const subscribed: Subscribed[] = []
  const answers: (McpResponse | Fault | 'never')[] = []
  const connect = ({ endpoint: { revision } }: RouterServer) => ({
    ...upstreamOf(echo),
    async subscribe(subscription: Subscription, signal: AbortSignal) {
      subscribed.push({ revision, subscription, signal })
      const answer = answers.shift() ?? ACCEPTED
      if (answer instanceof Fault) throw answer
      if (answer !== 'never') return answer
      return new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
  })
  const pool = createPool({ connect, clock })
  const update = (revision: string | undefined, access: Partial<RouterConfig> = {}) => {
    const servers =
      revision === undefined
        ? []
        : [serverOf('forge', { endpoint: { kind: 'local', id: 'forge', revision } })]
    pool.update({ ...snapshotOf({}, access, 1).config, servers })
  }
  update('1')
  return { pool, clock, subscribed, answers, update }
}

function subscribe(pool: ReturnType<typeof createPool>) {
  const updates: Notification[] = []
  const stop = new AbortController()
  const onUpdate = (notification: Notification) => void updates.push(notification)
  return {
    updates,
    stop,
    response: pool.subscribe('forge', { uri: URI, caller: OURSELVES, onUpdate }, stop.signal),
  }
}

/** Lets everything that is ready run. */
function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
