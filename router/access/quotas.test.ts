/** Quotas: what may pass in a day, and what routers report to each other. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RateLimit } from '../../core/catalog/access-config.ts'
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts'
import { createQuotas, type Quotas } from './quotas.ts'
import type { WindowCounts } from './window-counts.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const DAILY: RateLimit = { per: 'Caller', counts: 'calls', limit: 10, everyMs: DAY, burst: 10 }
const ONE_ROUTER = { limit: 10, routers: 1 }

function start(name = 'one', clock = createManualClock(1_800_000_000_000)) {
  const quotas = createQuotas(name, clock)
  const [counts] = quotas.adopt([DAILY]) as [WindowCounts]
  const take = (caller = 'ada', bound = ONE_ROUTER) => {
    const waitMs = counts.waitMs(caller, bound)
    if (waitMs === 0) counts.add(caller)
    return waitMs
  }
  return { clock, quotas, counts, take }
}

test('no more than the limit pass in any 24 hours, and a refusal says how long to wait', () => {
  const { clock, take } = start()
  const passed: number[] = []
  for (let minutes = 0; minutes < 5 * 24 * 60; minutes += 7) {
    for (let times = 0; times < 1 + (minutes % 3); times++) if (take() === 0) passed.push(clock.now())
    clock.advance(7 * 60_000)
  }
  for (const [at, time] of passed.entries()) assert.ok((passed[at + 10] ?? Infinity) - time >= DAY, `${at}`)
  assert.ok(passed.length >= 40, `${passed.length}`)
  const waitMs = take()
  assert.ok(waitMs > 0)
  clock.advance(waitMs - 1)
  assert.ok(take() > 0)
  clock.advance(1)
  assert.equal(take(), 0)
})

test('limits below an hour are no quotas; a quota that is raised keeps its counts', () => {
  const { quotas, take } = start()
  take()
  assert.deepEqual(quotas.adopt([{ ...DAILY, everyMs: HOUR - 1 }]), [undefined])
  assert.ok(quotas.isEmpty())
  const [first] = quotas.adopt([DAILY])
  const [second, other] = quotas.adopt([{ ...DAILY, limit: 20, servers: ['a'] }, DAILY])
  assert.equal(second, first)
  assert.notEqual(other, first)
})

test('a clock that is set back locks nobody out', () => {
  const { clock, take } = start()
  for (let times = 0; times < 10; times++) take()
  assert.ok(take() > 0)
  clock.setBack(DAY)
  assert.equal(take(), 0)
})

test('until routers have exchanged counts, each allows its share of what is left', () => {
  const bound = { limit: 10, routers: 2 }
  const one = start('one')
  const two = start('two', one.clock)
  const spend = ({ take }: typeof one) => {
    let passed = 0
    while (take('ada', bound) === 0) passed++
    return passed
  }
  assert.equal(spend(one), 5)
  assert.equal(one.take('ada', bound), 1_000)
  meet(one.quotas, two.quotas)
  assert.deepEqual([spend(one), spend(two)], [2, 2])
  meet(one.quotas, two.quotas)
  assert.deepEqual([spend(one), spend(two)], [1, 1])
  meet(one.quotas, two.quotas)
  assert.ok(one.take('ada', bound) > DAY && two.take('ada', bound) > DAY)
})

test('counts that exceed one message are sent in several, and a count that arrives twice is added once', () => {
  const one = start('one')
  for (let caller = 0; caller < 12_000; caller++) one.take(`caller ${caller}`)
  const two = start('two', one.clock)
  let cursor: Parameters<Quotas['report']>[0]
  const sizes: number[] = []
  for (let isWhole = false; !isWhole; ) {
    const report = one.quotas.report(cursor)
    ;({ cursor, isWhole } = report)
    sizes.push(report.limits.reduce((sum, [, changes]) => sum + changes.length, 0))
    assert.ok(two.quotas.merge(report) && two.quotas.merge(report))
  }
  assert.deepEqual(sizes, [5_000, 5_000, 2_000])
  for (const caller of ['caller 0', 'caller 11999']) {
    let passed = 0
    while (two.take(caller) === 0) passed++
    assert.equal(passed, 9)
  }
  assert.deepEqual(one.quotas.report(cursor).limits, [])
})

test('counts are bounded: the oldest are forgotten first', () => {
  const { clock, take } = start()
  for (let times = 0; times < 10; times++) take('early')
  clock.advance(4 * HOUR)
  for (let times = 0; times < 10; times++) take('late')
  for (let caller = 0; caller < 199_998; caller++) take(`caller ${caller}`)
  assert.ok(take('early') > 0)
  take('one more')
  assert.ok(take('late') > 0)
  assert.equal(take('early'), 0)
})

test('counts of another time, or of this router itself, are ignored', () => {
  const { clock, quotas, take } = start()
  const empty = quotas.report(undefined)
  take()
  const [[key = ''] = []] = quotas.report(undefined).limits
  const slot = (clock: ManualClock) => Math.floor(clock.now() / (DAY / 8))
  for (const [at, router] of [
    [slot(clock) - 9, 'two'],
    [slot(clock) + 2, 'two'],
    [slot(clock), 'one'],
  ] as const)
    assert.ok(quotas.merge({ ...empty, limits: [[key, [[at, router, 'bob', 10]]]] }))
  assert.equal(take('bob'), 0)
})

/** One exchange: each merges the report of the other, and marks its own as delivered. */
function meet(one: Quotas, two: Quotas): void {
  const marks = [one.mark(), two.mark()]
  const [first, second] = [one.report(undefined), two.report(undefined)]
  assert.ok(two.merge(first) && one.merge(second))
  for (const mark of marks) mark()
}
