/** One after the other, bounded, and cancelled while it waits. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSerialQueue } from './serial-queue.ts'

test('work is done one at a time, in order, and settles as it does', async () => {
  const lane = createSerialQueue(10)
  const order: string[] = []
  const gate = Promise.withResolvers<void>()
  const first = lane(async () => {
    order.push('first begins')
    await gate.promise
    order.push('first ends')
    return 1
  })
  const second = lane(async () => {
    order.push('second')
    throw new Error('broken')
  })
  const third = lane(async () => order.push('third'))
  gate.resolve()
  assert.equal(await first, 1)
  await assert.rejects(second, /broken/)
  await third
  assert.deepEqual(order, ['first begins', 'first ends', 'second', 'third'])
})

test('what waits is cancelled at once and never begun; what has begun holds its place to the end', async () => {
  const lane = createSerialQueue(10)
  const gate = Promise.withResolvers<void>()
  const stop = new AbortController()
  const begun: number[] = []
  const work = (id: number) => async () => {
    begun.push(id)
    await gate.promise
  }
  const jobs = [lane(work(1), stop.signal), lane(work(2), stop.signal)]
  const last = lane(work(3))
  stop.abort()
  for (const job of jobs) await assert.rejects(job, { code: 'cancelled' })
  assert.deepEqual(begun, [1])
  gate.resolve()
  await last
  assert.deepEqual(begun, [1, 3])
  await assert.rejects(lane(work(4), stop.signal), { code: 'cancelled' })
})

test('more than may wait is refused', async () => {
  const lane = createSerialQueue(1)
  const gate = Promise.withResolvers<void>()
  const accepted = [lane(() => gate.promise), lane(() => gate.promise)]
  await assert.rejects(
    lane(() => gate.promise),
    { code: 'unavailable', message: /too much to do/ },
  )
  gate.resolve()
  await Promise.all(accepted)
})
