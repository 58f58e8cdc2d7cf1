/** What `npm pack` restores, also after it was interrupted. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { replaceFiles, restoreFiles } from '../../scripts/replaced-files.mjs'

const FILES = ['package.json', 'README.md']

function start(t: TestContext) {
  const root = mkdtempSync(join(tmpdir(), 'portolan-replaced-'))
  t.after(() => rmSync(root, { recursive: true }))
  const aside = join(root, 'aside')
  const read = (file: string) => readFileSync(join(root, file), 'utf8')
  const write = (file: string, text: string) => writeFileSync(join(root, file), text)
  for (const file of FILES) write(file, 'own')
  return {
    ...{ aside, read, write },
    replace: () => replaceFiles(root, aside, Object.fromEntries(FILES.map(file => [file, 'made']))),
    restore: () => restoreFiles(root, aside, FILES, join(root, 'kept')),
  }
}

test('replaced files are restored', t => {
  const { aside, read, replace, restore } = start(t)
  replace()
  assert.deepEqual(FILES.map(read), ['made', 'made'])
  assert.deepEqual(restore(), [])
  assert.deepEqual([...FILES.map(read), existsSync(aside)], ['own', 'own', false])
  assert.deepEqual(restore(), [])
})

test('a file that was changed meanwhile stays, and what it was before is kept', t => {
  const { aside, read, write, replace, restore } = start(t)
  replace()
  write('README.md', 'edited')
  write('package.json', 'own')
  assert.deepEqual(restore(), ['README.md'])
  assert.deepEqual(FILES.map(read), ['own', 'edited'])
  assert.deepEqual([read('kept/README.md'), existsSync(aside)], ['own', false])
  assert.deepEqual(restore(), [])
})
