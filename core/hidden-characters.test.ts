/** Finding and showing characters that are invisible to people. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { firstHidden, reveal } from './hidden-characters.ts'

const HIDDEN: [text: string, shown: string][] = [
  ['a\u202Eb', 'a⟨U+202E right-to-left override⟩b'],
  ['zero\u200Bwidth', 'zero⟨U+200B zero width space⟩width'],
  ['x\u{E0069}\u{E0067}\u{E006E}\u{E006F}\u{E0072}\u{E0065}y', 'x⟨tags that say "ignore"⟩y'],
  ['👍\u{E0041}\u{E0042}', '👍⟨tags that say "AB"⟩'],
  ['\u{1F3F4}\u{E0061}\u{E0062}\u{E007F}', '\u{1F3F4}⟨tags that say "ab"⟩'],
  ['\u001B[8mx', '⟨U+001B escape⟩[8mx'],
  ['a\u{E0100}\u{E0101}\u{E0102}\u{E0103}\u{E0104}b', 'a⟨U+E0100, U+E0101, U+E0102, U+E0103, and 1 more⟩b'],
  ['👍\uFE0F\uFE0E', '👍⟨U+FE0F, U+FE0E⟩'],
  ['a\u200Db', 'a⟨U+200D zero width joiner⟩b'],
  ['1\uFE0F', '1⟨U+FE0F⟩'],
  ['\uFEFFstart', '⟨U+FEFF zero width no-break space⟩start'],
  ['한\u3164', '한⟨U+3164⟩'],
]

test('bidi controls, zero width, tags, variation selectors and control codes are found and shown', () => {
  for (const [text, shown] of HIDDEN) {
    assert.equal(reveal(text), shown)
    assert.notEqual(firstHidden(text), undefined)
  }
})

test('white space, emoji, flags, and joiners and marks in scripts that need them are not reported', () => {
  const texts = [
    'plain\ttext\r\nwith lines',
    '⚠️ 👩‍💻 🏴󠁧󠁢󠁥󠁮󠁧󠁿 1️⃣ ©️ ❤‍🔥 ☎︎ 👍🏽',
    'می‌خواهم',
    'क्‍ष',
    'שלום\u200E (x)',
    'Grüße, 漢字, ключ',
  ]
  for (const text of texts) {
    assert.equal(reveal(text), text)
    assert.equal(firstHidden(text), undefined)
  }
})

test('a revealed text has no hidden characters, and a text without them is not changed', () => {
  const character = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 3 }),
    fc.constantFrom(
      '\u200B',
      '\u200D',
      '\u202E',
      '\uFE0F',
      '👍',
      '\u{E0041}',
      '\u{1F3F4}',
      'ש',
      'ا',
      'a',
      ' ',
    ),
  )
  fc.assert(
    fc.property(fc.array(character), parts => {
      const text = parts.join('')
      assert.equal(firstHidden(reveal(text)), undefined)
      assert.equal(reveal(text) === text, firstHidden(text) === undefined)
    }),
  )
})

test('hostile texts of 256 KB are searched in linear time: quadratic time would be minutes', () => {
  const began = performance.now()
  for (const part of ['👍\u200D', '\u200B', 'ש\u200E\u200B', '\u{1F3F4}\u{E0067}', 'a'])
    reveal(part.repeat(256_000 / part.length))
  assert.ok(performance.now() - began < 30_000)
})
