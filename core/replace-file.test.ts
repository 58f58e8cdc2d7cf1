/** Files that are replaced by several writers at once, or cannot be. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { replaceFile } from './replace-file.ts'

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'portolan-replace-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

test('of concurrent writers of one process each succeeds, and one content is complete', async t => {
  const path = folder(t)
  const contents = Array.from({ length: 20 }, (_, at) => `${at}`.repeat(100_000 + at))
  await Promise.all(contents.map(content => replaceFile(join(path, 'file'), content)))
  assert.ok(contents.includes(readFileSync(join(path, 'file'), 'utf8')))
  assert.deepEqual(readdirSync(path), ['file'])
})

test('a file that cannot be replaced leaves nothing behind', async t => {
  const path = folder(t)
  mkdirSync(join(path, 'file'))
  await assert.rejects(replaceFile(join(path, 'file'), 'text'))
  assert.deepEqual(readdirSync(path), ['file'])
})
