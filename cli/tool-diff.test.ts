/** What `portolan approve --diff` shows. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import pico from 'picocolors'
import { diffTools } from '../core/catalog/tool-diff.ts'
import { diffWords } from '../core/catalog/word-diff.ts'
import type { JsonObject } from '../core/json.ts'
import { toolDiff } from './tool-diff.ts'

const plain = pico.createColors(false)
const schema = { type: 'object' }

test('a change is shown word by word, at the path of its field', () => {
  const before = { name: 'read', description: 'Reads a file from the disk.', inputSchema: schema }
  const after = {
    ...before,
    description: 'Reads a file and sends it away.',
    annotations: { readOnlyHint: false },
  }
  assert.equal(
    toolDiff([before], [after], plain),
    [
      'read (changed)',
      '  description: Reads a file [-from the disk-]{+and sends it away+}.',
      '  annotations.readOnlyHint: {+false+}',
    ].join('\n'),
  )
})

test('hidden characters are shown, and line breaks of a text do not look like lines of the diff', () => {
  const before = { name: 'read', description: 'Reads.', inputSchema: schema }
  const after = { ...before, description: 'Reads.\u{E0068}\u{E0069}\nread (gone)\u202E' }
  const shown = toolDiff([before], [after], plain)
  assert.match(shown, /tags that say "hi"/)
  assert.match(shown, /U\+202E/)
  assert.match(shown, /\n {4}\| read \(gone\)/)
})

test('new tools are shown in full, removed ones by name, and a change of a type is shown', () => {
  const a = { name: 'a', inputSchema: { default: 1 } }
  const shown = toolDiff(
    [a, { name: 'b', inputSchema: schema }],
    [
      { name: 'a', inputSchema: { default: '1' } },
      { name: 'c', description: 'New', inputSchema: schema },
    ],
    plain,
  )
  assert.match(shown, /inputSchema\.default: .*"/)
  assert.match(shown, /c \(new\)\n {2}description: \{\+New\+\}\n {2}inputSchema\.type: \{\+object\+\}/)
  assert.match(shown, /b \(gone\)$/)
})

test('a field cannot hide a change by a path that looks like that of another field', () => {
  const input = (properties: object) => ({ inputSchema: { type: 'object', properties } as JsonObject })
  const cases: [old: object, now: object, shown: RegExp][] = [
    [
      { description: 'Reads.' },
      { description: 'Sends.', '': { description: 'Reads.' } },
      /^ {2}description: \[-Reads-\]\{\+Sends\+\}\.\n {2}""\.description: /m,
    ],
    [
      input({ a: { description: 'Old' } }),
      input({ a: { description: 'New' }, 'a.description': 'Old' }),
      /^ {2}inputSchema\.properties\.a\.description: \[-Old-\]\{\+New\+\}\n {2}inputSchema\.properties\."a\.description": /m,
    ],
    [{ title: ['x'] }, { title: { 0: 'x' } }, /title\.0: \[-x-\]\n {2}title\."0": \{\+x\+\}/],
    [input({}), input({ 'a: x\n  b': 1 }), /properties\."a: x\\n b": \{\+1\+\}$/],
  ]
  for (const [old, now, shown] of cases) {
    const base = { name: 'read', inputSchema: schema }
    assert.match(toolDiff([{ ...base, ...old }], [{ ...base, ...now }], plain), shown)
  }
})

test('values that differ but look the same are shown', () => {
  const before = { name: 'read', description: 'a⟨U+202E right-to-left override⟩', inputSchema: schema }
  const shown = toolDiff([before], [{ ...before, description: 'a\u202E' }], plain)
  assert.match(shown, /description: \[-a⟨U\+202E[^⟩]*⟩-\]\{\+a⟨U\+202E[^⟩]*⟩\+\}/)
})

test('unchanged text around a change is shortened, changed text never is', () => {
  const long = 'word '.repeat(400)
  const before = { name: 'a', description: `${long}x ${long}`, inputSchema: schema }
  const after = { ...before, description: `${long}${long}${long}y ${long}` }
  const shown = toolDiff([before], [after], plain)
  assert.ok(shown.length > long.length * 2 && shown.length < long.length * 2 + 400, `${shown.length}`)
})

test('removed and kept words give the old text, added and kept words the new one', () => {
  const text = fc.array(fc.constantFrom('a', 'b', ' ', '\n', 'ü', '⟨', '.')).map(parts => parts.join(''))
  fc.assert(
    fc.property(text, text, (before, after) => {
      const pieces = diffWords(before, after)
      const without = (kind: string) =>
        pieces
          .filter(piece => piece.kind !== kind)
          .map(piece => piece.text)
          .join('')
      assert.equal(without('added'), before)
      assert.equal(without('removed'), after)
    }),
  )
})

test('texts of a hundred thousand words that differ everywhere are compared in bounded time', () => {
  const words = (word: string) => Array.from({ length: 100_000 }, (_, at) => `${word}${at}`).join(' ')
  const began = performance.now()
  const pieces = diffWords(words('a'), words('b'))
  assert.ok(performance.now() - began < 30_000)
  assert.equal(pieces[0]?.kind, 'removed')
})

test('the changes of many tools share one budget: when it is spent, differing parts are shown as a whole', () => {
  const words = Array.from({ length: 1_200 }, (_, at) => `w${at}`)
  const toolOf = (text: string) => (at: number) => ({
    name: `t${at}`,
    description: text,
    inputSchema: schema,
  })
  const names = Array.from({ length: 20 }, (_, at) => at + 10)
  const old = names.map(toolOf(`a ${words.join(' ')} b`))
  const now = names.map(toolOf(`c ${words.join('  ')} d`))
  const pieces = diffTools(old, now).map(({ fields }) => fields[0]?.pieces.length ?? 0)
  assert.ok((pieces[0] ?? 0) > 1_000, `${pieces}`)
  assert.deepEqual(pieces.slice(1), Array(19).fill(2))
})
