/** When the breaker opens, probes and closes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { type Breaker, createBreaker, type Entry, type Verdict } from './breaker.ts'

test('five failures in a row open the breaker, four do not', () => {
  const breaker = createBreaker(createManualClock())
  run(breaker, 'failure', 4)
  assert.equal(breaker.refusesForMs(), 0)
  run(breaker, 'failure', 1)
  assert.equal(breaker.refusesForMs(), 5_000)
  assert.equal(breaker.enter(), undefined)
  assert.deepEqual(breaker.status(), { state: 'open', failures: 5, retryInMs: 5_000 })
})

test('a success resets the count, an undecided call does not', () => {
  const breaker = createBreaker(createManualClock())
  run(breaker, 'failure', 4)
  run(breaker, 'undecided', 3)
  run(breaker, 'success', 1)
  run(breaker, 'failure', 4)
  assert.equal(breaker.status().state, 'closed')
})

test('after the pause exactly one call is allowed as a probe', () => {
  const clock = createManualClock()
  const breaker = createBreaker(clock)
  run(breaker, 'failure', 5)
  clock.advance(4_999)
  assert.equal(breaker.enter(), undefined)
  clock.advance(1)
  assert.equal(breaker.status().state, 'halfOpen')
  const probe = enter(breaker)
  assert.equal(probe.probe, true)
  assert.equal(breaker.enter(), undefined)
  breaker.leave(probe, 'success')
  assert.equal(breaker.enter()?.probe, false)
  assert.deepEqual(breaker.status(), { state: 'closed', failures: 0, retryInMs: 0 })
})

test('one probe is allowed every 5 s, however long a server is down', () => {
  const clock = createManualClock()
  const breaker = createBreaker(clock)
  run(breaker, 'failure', 5)
  for (let probe = 0; probe < 100; probe++) {
    assert.equal(breaker.refusesForMs(), 5_000)
    clock.advance(5_000)
    run(breaker, 'failure', 1)
  }
})

test('a hanging probe does not delay the next one', () => {
  const clock = createManualClock()
  const breaker = createBreaker(clock)
  run(breaker, 'failure', 5)
  clock.advance(5_000)
  const hanging = enter(breaker)
  assert.deepEqual(breaker.status(), { state: 'halfOpen', failures: 5, retryInMs: 5_000 })
  assert.equal(breaker.enter(), undefined)
  clock.advance(5_000)
  run(breaker, 'success', 1)
  breaker.leave(hanging, 'failure')
  assert.equal(breaker.status().state, 'closed')
})

test('a cancelled probe allows the next one', () => {
  const clock = createManualClock()
  const breaker = createBreaker(clock)
  run(breaker, 'failure', 5)
  clock.advance(5_000)
  run(breaker, 'undecided', 1)
  assert.equal(breaker.enter()?.probe, true)
})

test('calls that began before the breaker opened neither lengthen the pause nor count as the probe', () => {
  const clock = createManualClock()
  const breaker = createBreaker(clock)
  const [late, ...calls] = Array.from({ length: 9 }, () => enter(breaker))
  for (const call of calls) breaker.leave(call, 'failure')
  assert.equal(breaker.refusesForMs(), 5_000)
  clock.advance(5_000)
  assert.equal(breaker.enter()?.probe, true)
  breaker.leave(late as Entry, 'failure')
  assert.equal(breaker.enter(), undefined)
  assert.equal(breaker.refusesForMs(), 5_000)
})

test('failures of calls that began before a success do not count: one of two pods may be gone', () => {
  const breaker = createBreaker(createManualClock())
  const hanging = Array.from({ length: 8 }, () => enter(breaker))
  run(breaker, 'success', 1)
  for (const call of hanging) breaker.leave(call, 'failure')
  assert.deepEqual(breaker.status(), { state: 'closed', failures: 0, retryInMs: 0 })
  run(breaker, 'failure', 5)
  assert.equal(breaker.status().state, 'open')
})

test('a clock that was set back delays no probe for more than 5 s', () => {
  const clock = createManualClock(10_000_000)
  const breaker = createBreaker(clock)
  run(breaker, 'failure', 5)
  clock.setBack(3_600_000)
  assert.equal(breaker.refusesForMs(), 5_000)
  clock.advance(5_000)
  assert.equal(breaker.enter()?.probe, true)
})

function run(breaker: Breaker, verdict: Verdict, times: number): void {
  for (let time = 0; time < times; time++) {
    breaker.leave(enter(breaker), verdict)
  }
}

function enter(breaker: Breaker): Entry {
  const entry = breaker.enter()
  assert.ok(entry)
  return entry
}
