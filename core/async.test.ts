/** The system clock. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { delay, systemClock } from './async.ts'

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
