/** Quotas of a gateway with several routers, which exchange what they have counted. Over HTTP. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { RateLimit } from '../../core/catalog/access-config.ts'
import { createInternalCredentials } from '../../router/access/internal-credential.ts'
import { EXCHANGE_MS } from '../../router/access/window-counts.ts'
import { ANSWER_TIMEOUT_MS } from '../../router/http/quota-exchange.ts'
import { freePort } from '../support/free-port.ts'
import { createManualClock, type ManualClock } from '../support/manual-clock.ts'
import { until } from '../support/until.ts'
import { BLUE, NOW, RED, SERVERS, send, start } from './access-router.ts'

const KEY = 'the key of both routers'
const HOUR = 3_600_000
const LIST = { method: 'tools/list' }
/** In so many rounds all routers know each other's counts, also after a restart. Few enough that asking does not use up a quota. */
const MAX_ROUNDS = 5
const DAILY: RateLimit = { per: 'Caller', counts: 'requests', limit: 20, everyMs: 24 * HOUR, burst: 20 }

/** Starts routers that know each other's admin ports; `unreachable`: ports of further ones, which do not answer. */
async function routers(
  t: TestContext,
  count: number,
  limit: Partial<RateLimit> = {},
  unreachable: number[] = [],
) {
  const rateLimits = [{ ...DAILY, ...limit }]
  const ports = await Promise.all(Array.from({ length: count }, () => freePort()))
  const origins = [...ports, ...unreachable].map(port => `http://127.0.0.1:${port}`)
  const config = { routers: origins.length }
  const launch = async (port: number) => {
    const peers = async () => origins
    const admin = {
      host: '127.0.0.1',
      port,
      pod: `tools-${port}`,
      gateway: 'tools',
      missing: () => [],
      peers,
    }
    const clock = createRoundClock()
    const options = { sessionKey: KEY, admin, clock }
    const begun = await start(t, { rateLimits }, config, undefined, SERVERS, options)
    const statuses: number[] = []
    /** Sends requests until one is refused, and returns how many were allowed. */
    const spend = async (token = RED) => {
      for (let allowed = 0; ; allowed++) {
        const { status } = await send(begun.origin, LIST, { token })
        statuses.push(status)
        if (status !== 200) return allowed
      }
    }
    return { ...begun, clock, port, spend, statuses }
  }
  return { started: await Promise.all(ports.map(launch)), launch, ports }
}
type Started = Awaited<ReturnType<typeof routers>>['started']

/** A manual clock that also knows whether the router waits for the next round of its exchange. */
function createRoundClock(): ManualClock & { isBetweenRounds(): boolean } {
  const clock = createManualClock(NOW)
  let waiting = 0
  return {
    ...clock,
    isBetweenRounds: () => waiting > 0,
    after(ms, run) {
      if (ms !== EXCHANGE_MS) return clock.after(ms, run)
      waiting++
      let isOver = false
      const end = () => {
        if (!isOver) waiting--
        isOver = true
      }
      const timer = clock.after(ms, () => {
        end()
        run()
      })
      return {
        cancel() {
          end()
          timer.cancel()
        },
      }
    },
  }
}

/** Advances the clocks of the routers, and waits until they have ended their rounds. */
async function pass(started: Pick<Started[0], 'clock'>[], ms: number): Promise<void> {
  const ended = () => until(() => started.every(({ clock }) => clock.isBetweenRounds()))
  await ended()
  for (const { clock } of started) clock.advance(ms)
  await ended()
}

/** Lets the routers exchange their counts until this is true. */
async function exchange(started: Started, isDone: () => Promise<boolean>): Promise<void> {
  for (let rounds = 0; !(await isDone()); rounds++) {
    assert.ok(rounds < MAX_ROUNDS, `${rounds} rounds were not enough`)
    await pass(started, EXCHANGE_MS)
  }
}

/** Spends at the routers in turn until the quota is gone, and returns how many each has allowed. */
async function spendAll(started: Started, token = RED): Promise<number[]> {
  const spent = started.map(() => 0)
  await exchange(started, async () => {
    for (const [at, { spend }] of started.entries()) spent[at] = (spent[at] ?? 0) + (await spend(token))
    const waits = await Promise.all(started.map(one => retryAfter(one.origin, token)))
    return waits.every(wait => wait > 1)
  })
  return spent
}

async function retryAfter(origin: string, token: string): Promise<number> {
  const { headers } = await send(origin, LIST, { token })
  return Number(headers.get('retry-after'))
}

const sum = (counts: number[]) => counts.reduce((a, b) => a + b, 0)

test('two routers together allow a quota once per period, whichever of them the requests reach', async t => {
  const { started } = await routers(t, 2)
  const [first, second] = started as [Started[0], Started[0]]
  const spent = await spendAll(started)
  assert.ok(sum(spent) >= 20 && sum(spent) <= 21, `${spent}`)
  const wait = await retryAfter(first.origin, RED)
  assert.ok(wait > 24 * 3_600 - 60 && wait <= 27 * 3_600, `${wait}`)
  // If all requests reach one router, it allows the whole quota.
  const spentAtOne = await spendAll([first], BLUE)
  assert.deepEqual(spentAtOne, [20])
  await exchange([second], async () => (await retryAfter(second.origin, BLUE)) > 1)
  // The quota is available again after a day, but not before.
  await pass(started, 23 * HOUR)
  assert.ok((await retryAfter(second.origin, RED)) > 0)
  await pass(started, 4 * HOUR)
  const again = await spendAll(started)
  assert.ok(sum(again) >= 20 && sum(again) <= 21, `${again}`)
})

test('while the other routers cannot be reached, a router allows only its share of a quota', async t => {
  let asked = 0
  const silent = createServer(() => void asked++).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.after(() => void silent.close().closeAllConnections())
  const unreachable = [(silent.address() as AddressInfo).port, await freePort()]
  const { started } = await routers(t, 1, {}, unreachable)
  const [only] = started as [Started[0]]
  for (let round = 1; round <= 3; round++) {
    await until(() => only.clock.isBetweenRounds() || asked === round)
    only.clock.advance(EXCHANGE_MS)
    await until(() => asked === round)
    only.clock.advance(ANSWER_TIMEOUT_MS)
    await until(() => only.clock.isBetweenRounds())
    await only.spend()
  }
  assert.equal(only.statuses.filter(status => status === 200).length, 6)
})

test('a restarted router learns the earlier counts; when all are restarted, they are lost', async t => {
  const { started, launch, ports } = await routers(t, 2)
  const [first, second] = started as [Started[0], Started[0]]
  await spendAll(started)
  await second.router.close(0)
  const restarted = await launch(ports[1] as number)
  await exchange([first, restarted], async () => (await retryAfter(restarted.origin, RED)) > 1)
  await Promise.all([first, restarted].map(({ router }) => router.close(0)))
  const allRestarted = await Promise.all(ports.map(launch))
  assert.ok(sum(await spendAll(allRestarted)) >= 20)
})

test('only the routers of the gateway exchange counts, with one request for one credential', async t => {
  const { started } = await routers(t, 2)
  const [first] = started as [Started[0]]
  const url = `http://127.0.0.1:${first.port}/quotas`
  const cursor = { router: 'forged', revision: 1, hasAll: true }
  const body = JSON.stringify({ report: { cursor, isWhole: true, limits: [] } })
  const signed = (key: string, of = body, purpose: 'router' | 'caller' = 'router') => {
    const request = { method: 'POST', path: '/quotas', body: of }
    return createInternalCredentials(key, createManualClock(NOW)).issue(purpose, request)
  }
  const post = async (authorization: string, of = body) => {
    const answer = await fetch(url, { method: 'POST', headers: { authorization }, body: of })
    return { status: answer.status, text: await answer.text() }
  }
  assert.equal((await post(signed(KEY))).status, 200)
  for (const authorization of ['', `Bearer ${RED}`, signed('another key'), signed(KEY, body, 'caller')])
    assert.equal((await post(authorization)).status, 400)
  assert.equal((await post(signed(KEY), body.replace('forged', 'gorged'))).status, 400)
  for (const broken of [
    '',
    '{',
    '[]',
    body.replace('1', '-1'),
    body.replace('[]', '[["x",[[0,"r","c",1.5]]]]'),
  ])
    assert.equal((await post(signed(KEY, broken), broken)).status, 400, broken)
  const other = body.replace('[]', '[["another limit",[[0,"r","c",1]]]]')
  assert.equal((await post(signed(KEY, other), other)).status, 409)
})
