/** The states of a subscribed resource, on a session whose answers the test gives. */
import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { OURSELVES } from '../caller.ts'
import type { McpResponse } from '../protocol/json-rpc.ts'
import { ResourceSubscriptions } from './resource-subscriptions.ts'

const ONE = 'note://one'
const TWO = 'note://two'
const ACCEPTED: McpResponse = { result: {} }
const REFUSED: McpResponse = { error: { code: -32002, message: 'No such note' } }

test('a subscriber that comes during the first request shares it, also if the first subscriber has left', async () => {
  const { subscribe, sent, answer } = start()
  const [ann, bob] = [subscribe(ONE), subscribe(ONE)]
  ann.stop()
  await assert.rejects(ann.answered, { code: 'cancelled' })
  answer(ACCEPTED)
  assert.deepEqual(await bob.answered, ACCEPTED)
  assert.deepEqual(sent, [`subscribe ${ONE}`])
  bob.stop()
  assert.deepEqual(sent.slice(1), [`unsubscribe ${ONE}`, 'release'])
})

test('a subscription that has no subscriber left when it is accepted is cancelled', async () => {
  const { subscribe, sent, answer, subscriptions } = start()
  const ann = subscribe(ONE)
  ann.stop()
  await assert.rejects(ann.answered, { code: 'cancelled' })
  assert.equal(subscriptions.size, 1)
  answer(ACCEPTED)
  await turn()
  assert.deepEqual([sent.slice(1), subscriptions.size], [[`unsubscribe ${ONE}`, 'release'], 0])
})

test('a refusal answers all waiting subscribers, and the next one requests again', async () => {
  const { subscribe, sent, answer, subscriptions } = start()
  const [ann, bob] = [subscribe(ONE), subscribe(ONE)]
  answer(REFUSED)
  assert.deepEqual([await ann.answered, await bob.answered], [REFUSED, REFUSED])
  assert.equal(subscriptions.size, 0)
  assert.equal(ann.listeners(), 0)
  subscribe(ONE)
  assert.deepEqual(sent, [`subscribe ${ONE}`, 'release', `subscribe ${ONE}`])
})

test('a resource that is refused on the next session is requested again, with growing delays; others are not delayed', async () => {
  const { subscribe, sent, answer, subscriptions, clock } = start()
  const [one, two] = [subscribe(ONE), subscribe(TWO)]
  answer(ACCEPTED, ACCEPTED)
  await Promise.all([one.answered, two.answered])
  subscriptions.lost()
  clock.advance(1_000)
  answer(REFUSED, ACCEPTED)
  await turn()
  assert.deepEqual([one.updates, two.updates], [[], [TWO]])
  sent.length = 0
  for (const pause of [2_000, 4_000, 8_000]) {
    clock.advance(pause - 1)
    assert.deepEqual(sent, [])
    clock.advance(1)
    assert.deepEqual(sent.splice(0), [`subscribe ${ONE}`])
    answer(pause < 8_000 ? REFUSED : ACCEPTED)
    await turn()
  }
  assert.deepEqual([one.updates, two.updates, clock.pending()], [[ONE], [TWO], 0])
})

test('a session that already exists is used at once, and an answer of the previous one is ignored', async () => {
  const { subscribe, sent, answer, subscriptions, clock } = start()
  const [one, two] = [subscribe(ONE), subscribe(TWO)]
  answer(ACCEPTED)
  await one.answered
  subscriptions.renewed()
  assert.deepEqual(sent.splice(0).slice(2), [`subscribe ${ONE}`])
  answer(ACCEPTED, ACCEPTED) // The first is from the previous session.
  assert.deepEqual(await two.answered, ACCEPTED)
  await turn()
  clock.advance(1_000)
  assert.deepEqual(sent, [`subscribe ${TWO}`])
  answer(ACCEPTED)
  await turn()
  assert.deepEqual([one.updates, two.updates], [[ONE], [TWO]])
})

test('a request whose session was lost is repeated once, on the next session', async () => {
  const { subscribe, answer, sent } = start()
  const one = subscribe(ONE)
  answer('lost')
  await turn()
  answer(ACCEPTED)
  assert.deepEqual(await one.answered, ACCEPTED)
  const two = subscribe(TWO)
  answer('lost')
  await turn()
  answer('lost')
  await assert.rejects(two.answered, { code: 'upstream_died' })
  assert.equal(sent.length, 4)
})

test('subscriptions without subscribers are not renewed', async () => {
  const { subscribe, sent, answer, subscriptions, clock } = start()
  const one = subscribe(ONE)
  answer(ACCEPTED)
  await one.answered
  subscriptions.lost()
  one.stop()
  assert.deepEqual([sent, clock.pending()], [[`subscribe ${ONE}`, 'release', 'release'], 0])
})

test('an update of a part of a resource reaches subscribers of the whole', async () => {
  const { subscribe, answer, subscriptions } = start()
  const [one, two] = [subscribe(ONE), subscribe(TWO)]
  answer(ACCEPTED, ACCEPTED)
  await two.answered
  subscriptions.updated({ method: 'notifications/resources/updated', params: { uri: `${ONE}/part` } })
  assert.deepEqual([one.updates, two.updates], [[`${ONE}/part`], []])
})

test('closing ends all waits and timers', async () => {
  const { subscribe, answer, subscriptions, clock } = start()
  const one = subscribe(ONE)
  answer(ACCEPTED)
  await one.answered
  subscriptions.lost()
  const two = subscribe(TWO)
  subscriptions.close()
  await assert.rejects(two.answered, { code: 'cancelled' })
  assert.deepEqual([subscriptions.size, clock.pending()], [0, 0])
})

test('a session that was lost is not replaced once the subscriptions are closed', async () => {
  const { subscribe, sent, answer, subscriptions } = start()
  const one = subscribe(ONE)
  answer('lost')
  subscriptions.close()
  await assert.rejects(one.answered, { code: 'cancelled' })
  assert.deepEqual(sent, [`subscribe ${ONE}`, 'release'])
})

function start() {
  const clock = createManualClock()
  const sent: string[] = []
  const waiting: ((answer: McpResponse | 'lost') => void)[] = []
  const session = {
    subscribe(uri: string, signal: AbortSignal) {
      sent.push(`subscribe ${uri}`)
      return new Promise<McpResponse | 'lost'>((resolve, reject) => {
        waiting.push(resolve)
        signal.addEventListener('abort', () => reject(signal.reason))
      })
    },
    unsubscribe: (uri: string) => void sent.push(`unsubscribe ${uri}`),
  }
  const release = () => void sent.push('release')
  const subscriptions = new ResourceSubscriptions({ clock, random: () => 1, session, release })
  /** Answers the oldest requests that wait. */
  const answer = (...answers: (McpResponse | 'lost')[]) => {
    for (const one of answers) waiting.shift()?.(one)
  }
  const subscribe = (uri: string) => {
    const updates: unknown[] = []
    const end = new AbortController()
    const answered = subscriptions.subscribe(
      { uri, caller: OURSELVES, onUpdate: ({ params }) => void updates.push(params?.uri) },
      end.signal,
    )
    answered.catch(() => {})
    return {
      updates,
      answered,
      stop: () => end.abort(),
      listeners: () => getEventListeners(end.signal, 'abort').length,
    }
  }
  return { clock, sent, answer, subscribe, subscriptions }
}

/** Lets everything that is ready run. */
function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
