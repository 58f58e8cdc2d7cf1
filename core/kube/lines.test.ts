/** Splits chunks, which end anywhere, into lines. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readLines } from './lines.ts'

const signal = new AbortController().signal

test('lines are complete, however the text is divided into chunks', async () => {
  const text = Buffer.from('{"a":"ä"}\n\n{"b":1}\nno end')
  for (let size = 1; size <= text.length; size++) {
    assert.deepEqual(await all(inChunks(text, size)), ['{"a":"ä"}', '', '{"b":1}'], `in chunks of ${size}`)
  }
})

test('a line may have 16 MiB and a body many lines, but a longer line is an error', async () => {
  const limit = 16 * 2 ** 20
  const line = Buffer.alloc(limit, 'x')
  assert.equal((await all(inChunks(Buffer.concat([line, Buffer.from('\n')]), limit)))[0]?.length, limit)
  const many = Buffer.from(`${'x'.repeat(2 ** 20 - 1)}\n`.repeat(20))
  assert.equal((await all(inChunks(many, 2 ** 16))).length, 20)
  await assert.rejects(all(inChunks(Buffer.alloc(limit + 1, 'x'), 2 ** 20)), { reason: 'TooLarge' })
})

test('a broken connection is a retryable error; an aborted signal is a cancellation', async () => {
  async function* broken(): AsyncGenerator<Buffer> {
    yield Buffer.from('one\n')
    throw new Error('other side closed')
  }
  await assert.rejects(all(broken()), { reason: 'Unreachable', retryable: true })
  await assert.rejects(all(broken(), AbortSignal.abort()), { code: 'cancelled' })
})

async function all(body: AsyncIterable<Buffer>, ends: AbortSignal = signal): Promise<string[]> {
  const lines: string[] = []
  for await (const line of readLines(body, ends)) lines.push(line)
  return lines
}

async function* inChunks(text: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < text.length; at += size) yield text.subarray(at, at + size)
}
