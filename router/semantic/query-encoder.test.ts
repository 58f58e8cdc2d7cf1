/** When a query gets its vector, and when a search continues without one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Vector } from '../../core/catalog/vectors.ts'
import { createHashingEncoder } from '../../test/support/embeddings.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { createQueryEncoder, type Missed } from './query-encoder.ts'

const forever = new AbortController().signal

/** An encoder that answers when the test lets it. */
function start() {
  const clock = createManualClock()
  const real = createHashingEncoder()
  const waiting: { text: string; go: () => void; fail: () => void }[] = []
  const answered: (Missed | undefined)[] = []
  const ended: unknown[] = []
  const encoder = {
    encodeQuery: (text: string) =>
      new Promise<Vector>((resolve, reject) => {
        waiting.push({
          text,
          go: () => resolve(real.encodeQuery(text)),
          fail: () => reject(new Error('gone')),
        })
      }),
  }
  const encodeQuery = createQueryEncoder({
    encoder,
    timeoutMs: 250,
    clock,
    onEncoded: error => ended.push(error),
    onAnswered: missed => answered.push(missed),
  })
  return { clock, waiting, answered, ended, encodeQuery }
}

test('equal concurrent queries are encoded once, and later ones use the kept vector', async () => {
  const { waiting, answered, encodeQuery } = start()
  const both = Promise.all([encodeQuery('a', forever), encodeQuery('a', forever)])
  assert.equal(waiting.length, 1)
  waiting[0]?.go()
  const [first, second] = await both
  assert.ok(first)
  assert.equal(second, first)
  assert.equal(await encodeQuery('a', forever), first)
  assert.equal(waiting.length, 1)
  assert.deepEqual(answered, [undefined, undefined])
})

test('a search that waits too long continues without the vector, which is kept for the next', async () => {
  const { clock, waiting, answered, encodeQuery } = start()
  const late = encodeQuery('a', forever)
  const leaving = new AbortController()
  const cancelled = encodeQuery('a', leaving.signal)
  leaving.abort()
  assert.equal(await cancelled, undefined)
  clock.advance(249)
  assert.equal(await Promise.race([late, nextTurn('pending')]), 'pending')
  clock.advance(1)
  assert.equal(await late, undefined)
  assert.equal(clock.pending(), 0)
  const next = encodeQuery('a', forever)
  assert.equal(waiting.length, 1)
  waiting[0]?.go()
  assert.ok(await next)
  assert.deepEqual(answered, ['timeout', undefined])
})

test('a failure gives no vector and is not kept', async () => {
  const { waiting, answered, ended, encodeQuery } = start()
  const failed = encodeQuery('a', forever)
  waiting[0]?.fail()
  assert.equal(await failed, undefined)
  assert.match(String(ended[0]), /gone/)
  const again = encodeQuery('a', forever)
  waiting[1]?.go()
  assert.ok(await again)
  assert.deepEqual(answered, ['failed', undefined])
})

test('beyond the limit of concurrent queries, further searches get no vector, without waiting', async () => {
  const { waiting, answered, encodeQuery } = start()
  const many = Array.from({ length: 64 }, (_, at) => encodeQuery(`query ${at}`, forever))
  assert.equal(await encodeQuery('one more', forever), undefined)
  assert.deepEqual(answered, ['busy'])
  for (const { go } of waiting) go()
  assert.ok((await Promise.all(many)).every(vector => vector !== undefined))
})

test('the thousand most recently used vectors are kept', async () => {
  const { waiting, encodeQuery } = start()
  const ask = async (text: string) => {
    const vector = encodeQuery(text, forever)
    waiting.pop()?.go()
    assert.ok(await vector)
  }
  await ask('old and used')
  await ask('old')
  for (let at = 0; at < 999; at++) {
    await ask(`query ${at}`)
    await ask('old and used')
  }
  assert.equal(waiting.length, 0)
  void encodeQuery('old and used', forever)
  assert.equal(waiting.length, 0)
  void encodeQuery('old', forever)
  assert.equal(waiting.length, 1)
})
