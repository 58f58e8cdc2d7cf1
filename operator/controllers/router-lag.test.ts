/** When a router counts as behind its feed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RouterLag } from './router-lag.ts'

test('a router is overdue if it misses the same generation for 30 s, and no longer once it has it', () => {
  const lag = new RouterLag()
  assert.equal(lag.overdue('a', 1, 2, 0), undefined)
  assert.equal(lag.overdue('a', 1, 3, 29_999), undefined)
  assert.equal(lag.overdue('a', 1, 3, 30_000), 2)
  assert.equal(lag.overdue('a', 2, 3, 31_000), undefined)
  assert.equal(lag.overdue('a', 3, 3, 90_000), undefined)
})

test('a router that follows changes, each a little late, is never overdue', () => {
  const lag = new RouterLag()
  for (let generation = 1; generation < 100; generation++) {
    assert.equal(lag.overdue('a', generation, generation + 1, generation * 1_000), undefined)
  }
})

test('a router that is gone is forgotten', () => {
  const lag = new RouterLag()
  lag.overdue('a', 1, 2, 0)
  lag.keep(['b'])
  assert.equal(lag.overdue('a', 1, 2, 30_000), undefined)
})
