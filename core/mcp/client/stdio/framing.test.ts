/** Lines in a stream of bytes, however it is divided. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LineReader, type SkippedLine } from './framing.ts'

const KIB = 1024

function read(chunks: Buffer[], maxBytes = 1024 * KIB) {
  const lines: string[] = []
  const skipped: SkippedLine[] = []
  const reader = new LineReader({
    maxBytes: () => maxBytes,
    onLine: line => lines.push(line.toString()),
    onSkipped: line => skipped.push(line),
  })
  for (const chunk of chunks) reader.push(chunk)
  reader.end()
  return { lines, skipped }
}

test('lines are the same however the bytes are divided, also within characters', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme', maxLength: 40 }).map(line => line.replaceAll('\n', ' '))),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
      (lines, sizes) => {
        const bytes = Buffer.from(lines.map(line => `${line}\n`).join(''))
        const chunks: Buffer[] = []
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const size = sizes[turn % sizes.length] as number
          chunks.push(bytes.subarray(at, at + size))
          at += size
        }
        assert.deepEqual(read(chunks).lines, lines)
      },
    ),
    { numRuns: 300 },
  )
})

test('a line as large as the limit passes, one byte more is skipped, and the next line is read again', () => {
  const limit = 100 * KIB
  const fits = 'a'.repeat(limit)
  const over = `<${'b'.repeat(limit - 1)}>`
  const bytes = Buffer.from(`${fits}\n${over}\nnext\n`)
  const chunks = Array.from({ length: Math.ceil(bytes.length / 4096) }, (_, index) =>
    bytes.subarray(index * 4096, (index + 1) * 4096),
  )
  const { lines, skipped } = read(chunks, limit)
  assert.deepEqual(
    lines.map(line => line.length),
    [limit, 4],
  )
  assert.equal(skipped.length, 1)
  assert.equal(skipped[0]?.bytes, limit + 1)
  assert.match(skipped[0]?.head.toString() ?? '', /^<b{1023}$/)
  assert.match(skipped[0]?.tail.toString() ?? '', /^b{255}>$/)
})

test('a skipped line holds no memory, however long it is', () => {
  const reader = new LineReader({ maxBytes: () => KIB, onLine: () => assert.fail(), onSkipped: () => {} })
  const chunk = Buffer.alloc(64 * KIB, 'x')
  reader.push(chunk)
  const before = process.memoryUsage().arrayBuffers
  for (let round = 0; round < 2_000; round++) reader.push(chunk)
  assert.ok(process.memoryUsage().arrayBuffers - before < 16 * KIB * KIB)
})

test('a line of 200 KiB that comes byte by byte is read', () => {
  const byte = Buffer.from('x')
  const { lines } = read([...Array.from({ length: 200 * KIB }, () => byte), Buffer.from('\n')])
  assert.equal(lines[0]?.length, 200 * KIB)
})

test('text after the last line break is a line too', () => {
  assert.deepEqual(read([Buffer.from('one\n\ntwo')]).lines, ['one', '', 'two'])
})
