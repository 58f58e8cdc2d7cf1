/** Files that are given on the command line. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createWorkspace } from '../test/support/manifests.ts'
import { readGiven } from './paths.ts'

test('a file that is missing or a folder is refused with a sentence', t => {
  const { folder, remove } = createWorkspace()
  t.after(remove)
  const file = join(folder, 'mcp.json')
  const refusal = (message: string) => ({ name: 'CommandError', message, exitCode: 2 })
  assert.throws(() => readGiven(file), refusal(`there is no such file: ${file}`))
  assert.throws(() => readGiven(folder), refusal(`${folder} cannot be read: it is a folder`))
  writeFileSync(file, '{}')
  assert.equal(readGiven(file), '{}')
})
