/** The lifecycle of the encoder's thread: a crash, a failed start, closing. */
import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, renameSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { writeRandomModel } from '../../test/encoder/random-model.ts'
import { createEncoderThread } from './encoder-thread.ts'

const folder = mkdtempSync(join(tmpdir(), 'portolan-thread-'))
const modelFile = join(folder, 'minilm.bin')
before(() => void writeRandomModel(modelFile))
after(() => rmSync(folder, { recursive: true }))

/** Answers requests, and crashes at the query `die`. */
const CRASHING = new URL('../../test/encoder/crashing-worker.ts', import.meta.url)

test('a thread that crashes fails its pending requests, and the next request starts another thread', async t => {
  const thread = createEncoderThread(modelFile, undefined, CRASHING)
  t.after(thread.close)
  await thread.ready()
  const requests = ['die', 'pending'].map(query => thread.encode({ query }))
  for (const request of requests)
    await assert.rejects(request, {
      code: 'unavailable',
      message: 'The sentence encoder failed',
      retryable: true,
    })
  assert.equal((await thread.encode({ query: 'after the crash' })).length, 1)
})

test('a request that cannot be sent to the thread is rejected, and the next one is answered', async t => {
  const thread = createEncoderThread(modelFile, undefined, CRASHING)
  t.after(thread.close)
  await assert.rejects(thread.encode({ query: Symbol('none') } as never), { name: 'DataCloneError' })
  assert.equal((await thread.encode({ query: 'good' })).length, 1)
})

test('a failed start is tried again with the next request', async t => {
  const elsewhere = join(folder, 'elsewhere')
  renameSync(modelFile, elsewhere)
  const thread = createEncoderThread(modelFile)
  t.after(thread.close)
  await assert.rejects(thread.ready(), { code: 'io', message: /run `portolan model`/ })
  await assert.rejects(thread.encode({ query: 'nothing' }), { code: 'io' })
  renameSync(elsewhere, modelFile)
  assert.equal((await thread.encode({ query: 'found' })).length, 1)
})

test('if the model file is damaged while in use, onLost is called; a repaired file is loaded again', async t => {
  const damaged = join(folder, 'damaged')
  copyFileSync(modelFile, damaged)
  let lost = 0
  const thread = createEncoderThread(damaged, () => lost++)
  t.after(thread.close)
  await thread.ready()
  truncateSync(damaged, 10_000)
  await assert.rejects(thread.encode({ query: 'a' }), { code: 'unavailable', retryable: true })
  assert.equal(lost, 0)
  await assert.rejects(thread.encode({ query: 'b' }), { code: 'io', message: /run `portolan model`/ })
  assert.equal(lost, 1)
  copyFileSync(modelFile, damaged)
  assert.equal((await thread.encode({ query: 'c' })).length, 1)
  assert.equal(lost, 1)
})

test('a request that the thread cannot answer does not affect the next one', async t => {
  const thread = createEncoderThread(modelFile)
  t.after(thread.close)
  await assert.rejects(thread.encode({ query: 7 } as never), {
    code: 'unavailable',
    message: /encoder failed/,
  })
  assert.equal((await thread.encode({ query: 'good' })).length, 1)
})

test('a thread that is closed while it starts rejects pending and later requests', async () => {
  const thread = createEncoderThread(modelFile)
  const rejected = assert.rejects(thread.encode({ query: 'late' }), { code: 'unavailable' })
  await thread.close()
  await rejected
  await assert.rejects(thread.ready(), { code: 'unavailable', message: /is closed/ })
})
