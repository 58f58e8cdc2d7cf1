/** The life of the encoder's thread: a crash, a start that fails, an end. */
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

/** Says that it is ready, answers questions, and dies of the query `die`. */
const MORTAL = new URL('../../test/encoder/mortal-worker.ts', import.meta.url)

test('a thread that dies costs what it was at, and the next use starts another', async t => {
  const thread = createEncoderThread(modelFile, undefined, MORTAL)
  t.after(thread.close)
  await thread.ready()
  const asked = ['die', 'what came after'].map(query => thread.ask({ query }))
  for (const question of asked)
    await assert.rejects(question, {
      code: 'unavailable',
      message: 'The sentence encoder failed',
      retryable: true,
    })
  assert.equal((await thread.ask({ query: 'here again' })).length, 1)
})

test('a question that cannot be sent is refused, and nobody waits for it', async t => {
  const thread = createEncoderThread(modelFile, undefined, MORTAL)
  t.after(thread.close)
  await assert.rejects(thread.ask({ query: Symbol('none') } as never), { name: 'DataCloneError' })
  assert.equal((await thread.ask({ query: 'good' })).length, 1)
})

test('a start that failed is tried again with the next use', async t => {
  const elsewhere = join(folder, 'elsewhere')
  renameSync(modelFile, elsewhere)
  const thread = createEncoderThread(modelFile)
  t.after(thread.close)
  await assert.rejects(thread.ready(), { code: 'io', message: /run `portolan model`/ })
  await assert.rejects(thread.ask({ query: 'nothing' }), { code: 'io' })
  renameSync(elsewhere, modelFile)
  assert.equal((await thread.ask({ query: 'found' })).length, 1)
})

test('a model that is damaged under its thread is read anew once it is mended, and it is told that it was lost', async t => {
  const damaged = join(folder, 'damaged')
  copyFileSync(modelFile, damaged)
  let lost = 0
  const thread = createEncoderThread(damaged, () => lost++)
  t.after(thread.close)
  await thread.ready()
  truncateSync(damaged, 10_000)
  await assert.rejects(thread.ask({ query: 'a' }), { code: 'unavailable', retryable: true })
  assert.equal(lost, 0)
  await assert.rejects(thread.ask({ query: 'b' }), { code: 'io', message: /run `portolan model`/ })
  assert.equal(lost, 1)
  copyFileSync(modelFile, damaged)
  assert.equal((await thread.ask({ query: 'c' })).length, 1)
  assert.equal(lost, 1)
})

test('a question that cannot be answered costs itself alone', async t => {
  const thread = createEncoderThread(modelFile)
  t.after(thread.close)
  await assert.rejects(thread.ask({ query: 7 } as never), { code: 'unavailable', message: /encoder failed/ })
  assert.equal((await thread.ask({ query: 'good' })).length, 1)
})

test('a thread that is closed while it starts ends, and nothing is asked of it', async () => {
  const thread = createEncoderThread(modelFile)
  const asked = assert.rejects(thread.ask({ query: 'late' }), { code: 'unavailable' })
  await thread.close()
  await asked
  await assert.rejects(thread.ready(), { code: 'unavailable', message: /is closed/ })
})
