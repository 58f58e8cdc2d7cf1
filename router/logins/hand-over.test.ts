/** What a router that ends waits for, and for how long. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createLog } from '../../core/log.ts'
import { type User, userNamed } from '../../core/mcp/user.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { until } from '../../test/support/until.ts'
import { HAND_OVER_MS, handOver } from './hand-over.ts'
import { Renewals } from './renewals.ts'
import { createSeal } from './seal.ts'
import { SealedLogins } from './sealed-logins.ts'

const ADA = userNamed('https://login.example.com#ada') as User
const LOGIN = {
  ...{ name: 'linear', url: 'https://mcp.example.com/mcp', subject: ADA.subject, sinceMs: 1, renewedMs: 1 },
  server: { issuer: 'https://login.example.com', metadata: {} as never },
  client: { client_id: 'portolan' },
  tokens: { access_token: 'token', token_type: 'bearer' },
}

function start(settled: Promise<void> = Promise.resolve()) {
  const clock = createManualClock()
  const log = createLog({ level: 'silent' })
  const key = randomBytes(32)
  const seal = createSeal(key)
  const store = new SealedLogins({ key, seal, clock, secret: () => undefined })
  const renewals = new Renewals({ store, seal, log })
  const unwritten = () => store.unwritten(() => true)
  let isOver = false
  const begin = (tell = renewals.tell.bind(renewals)) => {
    return handOver({
      logins: { settled: () => settled },
      renewals: { retire: () => renewals.retire(), tell },
      unwritten,
      clock,
      log,
      random: () => 1,
    }).then(() => {
      isOver = true
    })
  }
  return { clock, store, renewals, begin, isOver: () => isOver }
}

test('a router with no login to hand over ends at once', async () => {
  const { begin, clock } = start()
  await begin()
  assert.equal(clock.pending(), 0)
})

test('a router whose logins nobody takes over ends after eight seconds', async () => {
  const { begin, clock, store, isOver } = start()
  await store.write(LOGIN, ADA)
  const over = begin()
  for (let ms = 0; ms < HAND_OVER_MS; ms += 100) {
    assert.equal(isOver(), false)
    // Two timers are set: the deadline, and the delay until the next attempt.
    await until(() => clock.pending() >= 2)
    clock.advance(100)
  }
  await over
  assert.equal(clock.pending(), 0)
})

test('all logins are handed over, even more than the operator reads at once', async () => {
  const { begin, clock, store } = start()
  for (const name of ['linear', 'notes', 'mail'])
    for (let at = 0; at < 200; at++) {
      const user = userNamed(`https://login.example.com#${at}`) as User
      await store.write({ ...LOGIN, name, subject: user.subject }, user)
    }
  const handedOver = new Set<string>()
  const over = begin(async records => {
    for (const { id } of records) handedOver.add(id)
    return [...records]
  })
  for (let rounds = 0; rounds < 2; rounds++) {
    await until(() => clock.pending() >= 2)
    clock.advance(100)
  }
  await over
  assert.equal(handedOver.size, 600)
})

test('as long as no router is found, each round looks for them once, and rounds become rarer', async () => {
  const { begin, clock, store, renewals, isOver } = start()
  for (let at = 0; at < 20; at++) {
    const user = userNamed(`https://login.example.com#${at}`) as User
    await store.write({ ...LOGIN, subject: user.subject }, user)
  }
  let lookups = 0
  const peers = async () => {
    lookups++
    throw new Error('ENOTFOUND')
  }
  renewals.attach({ peers, own: 'http://127.0.0.1:1', credentials: {} as never })
  const over = begin()
  while (!isOver()) {
    if (clock.pending() >= 2) clock.advance(100)
    await new Promise(resolve => setImmediate(resolve))
  }
  await over
  assert.equal(lookups, 11)
})

test('a running renewal is waited for, but not beyond the limit', async () => {
  const { begin, clock, isOver } = start(new Promise(() => {}))
  const over = begin()
  await new Promise(resolve => setImmediate(resolve))
  assert.equal(isOver(), false)
  clock.advance(HAND_OVER_MS)
  await over
})
