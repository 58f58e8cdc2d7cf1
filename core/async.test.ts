/** The system clock, and work in turns. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { delay, inTurns, systemClock } from './async.ts'

test('a negative delay ends immediately, without a warning', async t => {
  const warnings: string[] = []
  const onWarning = ({ message }: Error) => warnings.push(message)
  process.on('warning', onWarning)
  t.after(() => process.off('warning', onWarning))
  const alive = setInterval(() => {}, 1_000)
  await delay(systemClock, -66)
  clearInterval(alive)
  await setImmediate()
  assert.deepEqual(warnings, [])
})

test('work in turns keeps the order of its items, and no more than the limit runs', async () => {
  let running = 0
  let most = 0
  const results = await inTurns([3, 1, 2, 0, 4], 2, async item => {
    most = Math.max(most, ++running)
    for (let turn = 0; turn < item; turn++) await setImmediate()
    running--
    return item * 10
  })
  assert.deepEqual([results, most], [[30, 10, 20, 0, 40], 2])
  assert.deepEqual(await inTurns([], 2, async item => item), [])
})
