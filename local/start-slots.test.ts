/** Slots that limit concurrent heavy work, also if some of it hangs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../test/support/manual-clock.ts'
import { createSlots } from './start-slots.ts'

const turn = () => new Promise(resolve => setImmediate(resolve))

test('no more work runs than there are slots, and the rest follows in order', async () => {
  const slots = createSlots({ count: 2, maxHoldMs: 1_000, clock: createManualClock() })
  const begun: number[] = []
  const finish: (() => void)[] = []
  const works = [0, 1, 2, 3].map(at =>
    slots.run(() => {
      begun.push(at)
      return new Promise<void>(resolve => finish.push(resolve))
    }),
  )
  await turn()
  assert.deepEqual(begun, [0, 1])
  finish[0]?.()
  await turn()
  assert.deepEqual(begun, [0, 1, 2])
  finish[1]?.()
  finish[2]?.()
  await turn()
  finish[3]?.()
  await Promise.all(works)
  assert.deepEqual(begun, [0, 1, 2, 3])
})

test('work that hangs releases its slot after a while, and only once', async () => {
  const clock = createManualClock()
  const slots = createSlots({ count: 1, maxHoldMs: 1_000, clock })
  let finish = () => {}
  const hung = slots.run(() => new Promise<void>(resolve => (finish = resolve)))
  const begun: string[] = []
  const others = ['a', 'b'].map(name => slots.run(async () => void begun.push(name)))
  await turn()
  assert.deepEqual(begun, [])
  clock.advance(1_000)
  await Promise.all(others)
  assert.deepEqual(begun, ['a', 'b'])
  finish()
  await hung
  await assert.rejects(
    slots.run(() => Promise.reject(new Error('x'))),
    /x/,
  )
  assert.equal(await slots.run(async () => 1), 1)
})
