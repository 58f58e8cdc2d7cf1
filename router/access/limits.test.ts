/** How often callers may use a gateway. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OPEN_ACCESS, type RateLimit } from '../../core/catalog/access-config.ts'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import { ANONYMOUS } from '../../core/mcp/identity.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { createLimits, limitedSentence } from './limits.ts'

const NOW = 1_800_000_000_000
const ADA = { ...ANONYMOUS, id: 'token:ada' }
const BOB = { ...ANONYMOUS, id: 'token:bob' }

function configOf(limits: Partial<RateLimit>[], routers?: number): RouterConfig {
  const rateLimits = limits.map(limit => ({
    per: 'Caller' as const,
    counts: 'calls' as const,
    limit: 2,
    everyMs: 60_000,
    burst: limit.limit ?? 2,
    ...limit,
  }))
  return { access: { ...OPEN_ACCESS, rateLimits }, routers } as RouterConfig
}

function start(limits: Partial<RateLimit>[], routers?: number) {
  const clock = createManualClock(NOW)
  const config = configOf(limits, routers)
  const limiter = createLimits(clock)
  const call = (who = ADA, server = 'a', tool = 'get') => limiter.call(config, who, server, tool)?.waitMs
  return { clock, call, limiter, config }
}

test('a caller that reached its limit has to wait; another caller has its own limit', () => {
  const { clock, call, limiter, config } = start([{}])
  assert.deepEqual([call(), call(), call()], [undefined, undefined, 30_000])
  assert.equal(call(BOB), undefined)
  const limited = limiter.call(config, ADA, 'a', 'get')
  assert.equal(
    limited && limitedSentence(limited),
    'The limit of 2 calls a minute is reached; again in 30 s.',
  )
  clock.advance(30_000)
  assert.deepEqual([call(), call()], [undefined, 30_000])
})

test('a limit of the gateway is shared by all callers, and a refused call counts for no limit', () => {
  const { clock, call } = start([{ per: 'Gateway', limit: 3 }, { limit: 2 }])
  assert.deepEqual([call(), call(), call()], [undefined, undefined, 30_000])
  assert.deepEqual([call(BOB), call(BOB)], [undefined, 20_000])
  clock.advance(20_000)
  assert.equal(call(BOB), undefined)
})

test('a limit for servers and tools counts their calls only', () => {
  const { call } = start([{ limit: 1, servers: ['a'], tools: ['search_*'] }])
  assert.deepEqual([call(ADA, 'a', 'search_x'), call(ADA, 'a', 'search_y')], [undefined, 60_000])
  assert.deepEqual([call(ADA, 'b', 'search_x'), call(ADA, 'a', 'get')], [undefined, undefined])
})

test('each of several routers allows its share, and at least one', () => {
  const { call } = start([{ limit: 10 }], 5)
  assert.deepEqual([call(), call(), call()], [undefined, undefined, 30_000])
  const { call: rarely } = start([{ limit: 1 }], 4)
  assert.deepEqual([rarely(), rarely()], [undefined, 240_000])
})

test('a burst of one lets a request pass if its cost is no whole number of milliseconds', () => {
  for (const limit of [7, 9, 11, 14, 36, 90, 700]) {
    const { clock, call } = start([{ limit, burst: 1 }])
    assert.deepEqual([call(), call()], [undefined, Math.ceil(60_000 / limit)], `${limit} a minute`)
    clock.advance(Math.ceil(60_000 / limit))
    assert.equal(call(), undefined, `${limit} a minute, later`)
    const { call: shared } = start([{ limit }], limit + 1)
    assert.equal(shared(), undefined, `${limit} a minute, by ${limit + 1} routers`)
  }
})

test('a clock that is set back locks nobody out for longer than a burst', () => {
  const { clock, call } = start([{}])
  call()
  call()
  clock.setBack(24 * 60 * 60_000)
  assert.equal(call(), 30_000)
})

test('requests are counted apart from calls', () => {
  const { limiter, config } = start([{ counts: 'requests', limit: 1 }])
  assert.equal(limiter.request(config, ADA), undefined)
  assert.equal(limiter.request(config, ADA)?.waitMs, 60_000)
  assert.equal(limiter.call(config, ADA, 'a', 'get'), undefined)
})

test('when the number of routers changes, nobody gets a new burst', () => {
  const { call, limiter } = start([{}])
  assert.deepEqual([call(), call()], [undefined, undefined])
  const waits = [2, 4, 1].map(routers => limiter.call(configOf([{}], routers), ADA, 'a', 'get')?.waitMs)
  assert.deepEqual(waits, [60_000, 60_000, 30_000])
})

test('calls with an earlier config, as scripts make them that still run, are counted by the limits in force', () => {
  const DAILY = { everyMs: 24 * 60 * 60_000 }
  for (const [before, now] of [
    [configOf([{ ...DAILY, limit: 100, per: 'Gateway' }]), configOf([DAILY])],
    [configOf([{ limit: 100 }]), configOf([{}])],
    [configOf([]), configOf([DAILY])],
  ] as const) {
    const { limiter } = start([])
    const isAllowed = (config: RouterConfig) => limiter.call(config, ADA, 'a', 'get') === undefined
    assert.deepEqual([before, now, before, now, now, now].map(isAllowed).at(-1), false)
    assert.equal(isAllowed(before), before.access.rateLimits.length === 0)
    assert.equal(isAllowed(now), false)
  }
})

test('limits that are removed and put in force again are in force', () => {
  const { limiter, config } = start([{ limit: 1 }])
  limiter.adopt(configOf([]))
  limiter.adopt(config)
  assert.equal(limiter.call(config, ADA, 'a', 'get'), undefined)
  assert.equal(limiter.call(config, ADA, 'a', 'get')?.waitMs, 60_000)
})
