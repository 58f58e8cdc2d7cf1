/** Bodies are joined from chunks of all sizes, and small chunks take little memory. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Chunks } from './chunks.ts'

function joined(sizes: readonly number[]): { given: Buffer; taken: Buffer } {
  const chunks = new Chunks()
  const given = sizes.map((size, at) => Buffer.alloc(size, at % 251))
  for (const chunk of given) chunks.add(chunk)
  return { given: Buffer.concat(given), taken: chunks.bytes() }
}

test('a single chunk is not copied, and nothing is an empty body', () => {
  const chunks = new Chunks()
  assert.equal(chunks.text(), '')
  const only = Buffer.from('whole')
  chunks.add(only)
  assert.equal(chunks.bytes(), only)
  chunks.clear()
  assert.equal(chunks.text(), '')
})

test('chunks of all sizes are joined in their order', () => {
  for (const sizes of [
    [0, 3],
    [1, 1, 1],
    [1_023, 1_023, 1_023, 1_023, 1_023],
    [1_024, 1, 1_024, 1],
    [1, 100_000, 2, 3, 4_096, 1_023],
    Array.from({ length: 40_000 }, () => 1),
  ]) {
    const { given, taken } = joined(sizes)
    assert.ok(given.equals(taken), `${sizes.slice(0, 6)}`)
  }
})

test('what is read before the end does not change what is read then', () => {
  const chunks = new Chunks()
  for (const text of ['a', 'b']) chunks.add(Buffer.from(text))
  assert.equal(chunks.text(), 'ab')
  chunks.add(Buffer.from('c'))
  assert.equal(chunks.text(), 'abc')
})

test('a million chunks of one byte take little memory', () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const used = () => {
    collectGarbage()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
  const chunks = new Chunks()
  const before = used()
  for (let at = 0; at < 1_000_000; at++) chunks.add(Buffer.from('x'))
  const grown = used() - before
  assert.ok(grown < 32e6, `${grown} bytes`)
  assert.equal(chunks.bytes().length, 1_000_000)
})
