/** The tokenizer compared with BERT's rules, and its limits for arbitrary texts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cpuMs } from '../../test/support/cpu-time.ts'
import { createTokenizer } from './word-piece.ts'

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz0123456789$_-.()中文か한αςß']
const WORDS = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', 'get', '##hub', 'git', '##s', 'hello', 'file', 'ae']
const vocabulary = [...WORDS, ...LETTERS, ...LETTERS.map(letter => `##${letter}`)]
const tokenize = createTokenizer(vocabulary.join('\n'))
const words = (text: string, maxTokens = 64): string =>
  [...tokenize(text, maxTokens)]
    .slice(1, -1)
    .map(token => vocabulary[token])
    .join(' ')

test('a word is split into the longest known pieces, regardless of case and accents', () => {
  assert.equal(words('GitHub gets'), 'git ##hub get ##s')
  assert.equal(words('Héllo HELLO'), 'hello hello')
  assert.equal(words('git-hub_get.s'), 'git - h ##u ##b _ get . s')
  assert.equal(words('($5)'), '( $ 5 )')
})

test('each Chinese character is a word; kana and Hangul letters stay in their words', () => {
  assert.equal(words('中文git'), '中 文 git')
  assert.equal(words('gitか'), 'git ##か')
})

test('control and replacement characters are dropped; all kinds of white space separate words', () => {
  assert.equal(words('gi\u0000t\u200b\uFFFD\u00ADhub'), 'git ##hub')
  assert.equal(words('git\u3000get\thello\u00a0file\nget'), 'git get hello file get')
})

test('lower case follows JavaScript for a final sigma, and leaves a sharp s as it is', () => {
  assert.equal(words('ΑΣ'), 'α ##ς')
  assert.equal(words('ß'), 'ß')
})

test('a word with an unknown character, or with more than 100 characters, is one unknown token', () => {
  assert.equal(words('git→hub get'), '[UNK] get')
  assert.equal(words('🙂'), '[UNK]')
  assert.equal(words(`${'a'.repeat(100)} get`, 128).split(' ').length, 101)
  assert.equal(words(`${'a'.repeat(101)} get`), '[UNK] get')
})

test('tokens are enclosed in [CLS] and [SEP], and truncated to the limit', () => {
  assert.deepEqual([...tokenize('', 8)], [2, 3])
  assert.deepEqual([...tokenize('get get get get', 4)], [2, 4, 4, 3])
  assert.equal(tokenize('githubs', 4).length, 4)
})

test('any text gives valid tokens, and never more than the limit', () => {
  const anything = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.string({ unit: 'grapheme', maxLength: 100 }),
    fc
      .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 300 })
      .map(codes => String.fromCharCode(...codes)),
  )
  fc.assert(
    fc.property(anything, fc.integer({ min: 2, max: 128 }), (text, most) => {
      const tokens = tokenize(text, most)
      assert.ok(tokens.length >= 2 && tokens.length <= most)
      assert.ok(tokens.every(token => token < vocabulary.length))
      assert.deepEqual([tokens[0], tokens.at(-1)], [2, 3])
    }),
  )
})

test('a million characters of the worst case take less than a second', () => {
  const worst = `${'a'.repeat(99)}→ `.repeat(10_000)
  const started = cpuMs()
  tokenize(worst, 128)
  assert.ok(cpuMs() - started < 1_000)
})
