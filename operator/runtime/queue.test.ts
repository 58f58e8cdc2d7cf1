/** The queue with a manual clock: order, repetition and delays of keys. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { Queue, RETRY } from './queue.ts'

function start() {
  const clock = createManualClock()
  const queue = new Queue({ clock, random: () => 1 })
  const never = new AbortController().signal
  return { clock, queue, next: () => queue.next(never) }
}

test('keys come in the order in which they were added, each once', async () => {
  const { queue, next } = start()
  for (const key of ['a', 'b', 'a']) queue.add(key)
  assert.equal(queue.depth, 2)
  assert.deepEqual([await next(), await next(), queue.depth], ['a', 'b', 0])
})

test('a waiting worker gets the next key, and several get one each', async () => {
  const { queue, next } = start()
  const taken = Promise.all([next(), next()])
  queue.add('a')
  queue.add('a')
  queue.add('b')
  assert.deepEqual(await taken, ['a', 'b'])
})

test('a key is never reconciled twice at once; if added meanwhile, it follows once', async () => {
  const { queue, next } = start()
  queue.add('a')
  await next()
  queue.add('a')
  queue.add('a')
  queue.add('b')
  assert.deepEqual([await next(), queue.depth], ['b', 1])
  queue.done('a')
  assert.equal(await next(), 'a')
  queue.done('a')
  assert.equal(queue.depth, 0)
})

test('if a key is scheduled twice, it comes once, at the earlier time', async () => {
  const { clock, queue, next } = start()
  queue.addAfter('a', 500)
  queue.addAfter('a', 100)
  queue.addAfter('a', 300)
  assert.equal(clock.pending(), 1)
  clock.advance(99)
  assert.equal(queue.depth, 0)
  clock.advance(1)
  assert.equal(await next(), 'a')
  queue.done('a')
  clock.advance(1_000)
  assert.equal(queue.depth, 0)
})

test('a key that becomes due while it is reconciled waits until that ends', async () => {
  const { clock, queue, next } = start()
  queue.add('a')
  await next()
  queue.addAfter('a', 10)
  clock.advance(10)
  queue.done('a')
  assert.equal(await next(), 'a')
})

test('a key that fails comes later each time, up to two minutes, until it is forgotten', async () => {
  const { clock, queue, next } = start()
  const waited: number[] = []
  for (let times = 0; times < 12; times++) {
    const from = clock.now()
    queue.addRateLimited('a')
    while (queue.depth === 0) clock.advance(RETRY.firstMs)
    waited.push(clock.now() - from)
    await next()
    queue.done('a')
  }
  assert.deepEqual(waited.slice(0, 4), [200, 400, 800, 1_600])
  assert.deepEqual(waited.slice(-2), [RETRY.longestMs, RETRY.longestMs])
  assert.equal(queue.failures('a'), 12)
  queue.forget('a')
  queue.addRateLimited('a')
  clock.advance(RETRY.firstMs)
  assert.equal(queue.depth, 1)
})

test('a failed key waits as long as the server asks', () => {
  const { clock, queue } = start()
  queue.addRateLimited('a', 5_000)
  clock.advance(4_999)
  assert.equal(queue.depth, 0)
  clock.advance(1)
  assert.equal(queue.depth, 1)
})

test('a waiting worker whose signal aborts takes no key', async () => {
  const { queue, next } = start()
  const stop = new AbortController()
  const waiting = queue.next(stop.signal)
  stop.abort()
  assert.equal(await waiting, undefined)
  assert.equal(await queue.next(stop.signal), undefined)
  queue.add('a')
  assert.equal(await next(), 'a')
})

test('a key that is scheduled before and after the clock was set back comes at the earlier time', async () => {
  const { clock, queue } = start()
  queue.addAfter('a', 60_000)
  clock.setBack(3_600_000)
  queue.addAfter('a', 100)
  clock.advance(100)
  assert.equal(queue.depth, 1)
})
