/** Order, limit and cancellation of a serial queue. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSerialQueue } from './serial-queue.ts'

test('jobs run one at a time, in order, and return their result or error', async () => {
  const queue = createSerialQueue(10)
  const order: string[] = []
  const gate = Promise.withResolvers<void>()
  const first = queue(async () => {
    order.push('first begins')
    await gate.promise
    order.push('first ends')
    return 1
  })
  const second = queue(async () => {
    order.push('second')
    throw new Error('broken')
  })
  const third = queue(async () => order.push('third'))
  gate.resolve()
  assert.equal(await first, 1)
  await assert.rejects(second, /broken/)
  await third
  assert.deepEqual(order, ['first begins', 'first ends', 'second', 'third'])
})

test('a waiting job that is cancelled never runs; a running one still delays the next until it ends', async () => {
  const queue = createSerialQueue(10)
  const gate = Promise.withResolvers<void>()
  const stop = new AbortController()
  const begun: number[] = []
  const work = (id: number) => async () => {
    begun.push(id)
    await gate.promise
  }
  const jobs = [queue(work(1), stop.signal), queue(work(2), stop.signal)]
  const last = queue(work(3))
  stop.abort()
  for (const job of jobs) await assert.rejects(job, { code: 'cancelled' })
  assert.deepEqual(begun, [1])
  gate.resolve()
  await last
  assert.deepEqual(begun, [1, 3])
  await assert.rejects(queue(work(4), stop.signal), { code: 'cancelled' })
})

test('jobs beyond the limit are refused', async () => {
  const queue = createSerialQueue(1)
  const gate = Promise.withResolvers<void>()
  const accepted = [queue(() => gate.promise), queue(() => gate.promise)]
  await assert.rejects(
    queue(() => gate.promise),
    { code: 'unavailable', message: /is overloaded/ },
  )
  gate.resolve()
  await Promise.all(accepted)
})
