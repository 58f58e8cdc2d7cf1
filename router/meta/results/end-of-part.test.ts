/** Where texts are cut: at sensible places, and never within a character. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { endOfPart } from './end-of-part.ts'

function partsOf(text: string, most: number): string[] {
  const bytes = Buffer.from(text)
  const parts: string[] = []
  for (let from = 0; from < bytes.length; ) {
    const end = endOfPart(bytes, from, most)
    parts.push(bytes.toString('utf8', from, end))
    from = end
  }
  return parts
}

test('a text is cut at line breaks if possible', () => {
  const lines = Array.from({ length: 100 }, (_, at) => `line ${at} of a log\n`)
  assert.ok(partsOf(lines.join(''), 200).every(part => part.endsWith('\n')))
})

test('without line breaks a text is cut between words', () => {
  assert.ok(partsOf('word '.repeat(500), 203).every(part => part.endsWith(' ')))
})

test('JSON is cut between its outermost elements, written in one line or several', () => {
  const rows = Array.from({ length: 60 }, (_, at) => ({ id: at, tags: ['a, "b', '{', '\\'], text: 'x]y}' }))
  const [compact, ...others] = partsOf(JSON.stringify(rows), 400)
  assert.ok(
    compact?.endsWith('},') &&
      others.slice(0, -1).every(part => part.startsWith('{"id"') && part.endsWith('},')),
  )
  for (const part of partsOf(JSON.stringify(rows, null, 2), 600).slice(0, -1))
    assert.match(part, / {2}\},\n?$/)
  const lines = partsOf(rows.map(row => `${JSON.stringify(row)}\n`).join(''), 400)
  assert.ok(lines.every(part => part.endsWith('}\n')))
})

test('for any text and size the parts join to the original, and each has at most the size, or one character', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.string({ unit: 'grapheme', maxLength: 300 }),
    fc.json({ maxDepth: 4 }),
    fc.constant('😀'.repeat(50)),
    fc.constant('\\"[{,'.repeat(60)),
  )
  fc.assert(
    fc.property(texts, fc.integer({ min: 1, max: 300 }), (text, most) => {
      const parts = partsOf(text, most)
      assert.equal(parts.join(''), Buffer.from(text).toString())
      for (const part of parts) {
        const size = Buffer.byteLength(part)
        assert.ok(size > 0 && (size <= most || [...part].length === 1))
      }
    }),
    { numRuns: 100 },
  )
})

test('a part of 0 bytes is empty', () => {
  assert.equal(endOfPart(Buffer.from('abc'), 1, 0), 1)
})
