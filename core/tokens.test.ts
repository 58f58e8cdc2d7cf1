/** Token counts against the known total of the recorded catalogs, and the life of the worker. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { onlyRecorded } from '../test/search/where-recorded.ts'
import { createManualClock } from '../test/support/manual-clock.ts'
import { RECORDED, readOwn, readRecorded } from '../test/upstreams/replay/catalogs.ts'
import { createTokenCounter, toolText } from './tokens.ts'

test('the 784 tools of 42 recorded servers cost 219,661 tokens', async t => {
  if (!onlyRecorded(t)) return
  const counter = createTokenCounter()
  t.after(counter.close)
  const counts = await counter.count(readRecorded(RECORDED).flatMap(({ tools }) => tools.map(toolText)))
  assert.equal(counts.length, 784)
  assert.equal(
    counts.reduce((sum, each) => sum + each, 0),
    219_661,
  )
})

test('concurrent batches get the same counts as from the tokenizer itself', async t => {
  const counter = createTokenCounter()
  t.after(counter.close)
  const texts = [
    ...readOwn().flatMap(({ tools }) => tools.map(toolText)),
    '',
    '検索する',
    '<|endoftext|>x'.slice(0, 5),
  ]
  const batches = await Promise.all(texts.map(text => counter.count([text])))
  assert.deepEqual(
    batches.flat(),
    texts.map(text => countTokens(text)),
  )
  assert.deepEqual(await counter.count([]), [])
})

test('text that looks like a control token is counted as text', async t => {
  const counter = createTokenCounter()
  t.after(counter.close)
  const [count = 0] = await counter.count(['<|endoftext|>'])
  assert.ok(count > 1)
})

test('a long text without any break is counted in pieces, almost exactly', async t => {
  const counter = createTokenCounter()
  t.after(counter.close)
  const [count = 0] = await counter.count(['a'.repeat(1_000_000)])
  assert.ok(Math.abs(count - 125_000) < 1_000, String(count))
})

test('the worker ends after two idle seconds and starts again when needed', async t => {
  const clock = createManualClock()
  const counter = createTokenCounter(clock)
  t.after(counter.close)
  const [before] = await counter.count(['hello world'])
  assert.equal(clock.pending(), 1)
  clock.advance(2_000)
  assert.equal(clock.pending(), 0)
  assert.deepEqual(await counter.count(['hello world']), [before])
})

test('counts that are pending when the counter is closed are rejected', async () => {
  const counter = createTokenCounter()
  const waiting = counter.count(['hello'])
  await Promise.all([assert.rejects(waiting, { code: 'unavailable' }), counter.close()])
})
