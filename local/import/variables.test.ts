/** Variables in client configs. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: client configs have such variables in plain strings
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fillVariables, isPlain, parseVariables, writeVariables } from './variables.ts'

const folders = { workspace: '/home/ada/project', home: '/home/ada' }
const form = (text: string) => `\${${text}}`
const fill = (text: string, values: Record<string, string> = {}) => {
  const filled = fillVariables(
    parseVariables(text, folders).parts,
    part => values[part.kind === 'env' ? part.name : part.id],
  )
  return 'text' in filled ? filled.text : filled.missing
}

test('every form of a variable is replaced', () => {
  const values = { KEY: 'k', token: 't' }
  const text = `a ${form('KEY')} ${form('env:KEY')} ${form('input:token')} ${form('NONE:-x:-y')} ${form('env:NONE:-')}!`
  assert.equal(fill(text, values), 'a k k t x:-y !')
  assert.equal(
    fill(`${form('workspaceFolder')}/${form('workspaceFolderBasename')}${form('/')}${form('userHome')}`),
    '/home/ada/project/project//home/ada',
  )
})

test('an empty value counts as a value; a missing one is reported with its name', () => {
  assert.equal(fill(form('KEY:-x'), { KEY: '' }), '')
  assert.deepEqual(fill(`a${form('KEY')}`), { kind: 'env', name: 'KEY' })
  assert.deepEqual(fill(form('input:token')), { kind: 'input', id: 'token' })
})

test('text without variables does not change', () => {
  for (const text of ['', '$KEY', '${', '${}', '${1}', '${a b}', '$(KEY)', '{{KEY}}', '%KEY%']) {
    assert.ok(isPlain(parseVariables(text, folders).parts), text)
    assert.equal(fill(text), text)
  }
})

test('variables that only an editor can resolve are reported', () => {
  for (const name of ['config:a.b', 'command:x', 'file', 'fileDirname'])
    assert.equal(parseVariables(form(name), folders).foreign, form(name))
})

test('text that is parsed and written back gives the same parts', () => {
  const piece = fc.oneof(fc.string(), fc.constantFrom('${A}', '${A:-b}', '${input:x}', '${', '}'))
  fc.assert(
    fc.property(fc.array(piece), pieces => {
      const text = pieces.join('')
      const { parts } = parseVariables(text, folders)
      assert.deepEqual(parseVariables(writeVariables(parts), folders).parts, parts)
    }),
  )
})
