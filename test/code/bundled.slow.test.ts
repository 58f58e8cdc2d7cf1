/** The bundle contains all that scripts need: the sandbox's thread, the interpreter, and the code that runs inside it. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { bundle } from '../../scripts/bundle.ts'
import { createWorkspace, scriptCommand } from '../support/manifests.ts'

test('a bundled gateway runs a script', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-bundled-code-'))
  t.after(() => rmSync(folder, { recursive: true }))
  await bundle(folder)
  const { folder: manifests, cache, write, remove } = createWorkspace()
  t.after(remove)
  write('rude', scriptCommand('test/upstreams/rude/server.mjs'))
  const script = join(folder, 'script.js')
  writeFileSync(
    script,
    'const words: string[] = input\nreturn Promise.all(words.map(text => tools.rude.echo({ text })))',
  )
  const args = [join(folder, 'portolan.js'), 'run', script, '--input', '["a", "b"]', manifests]
  const env = { ...process.env, PORTOLAN_CACHE: cache }
  const { stdout } = await promisify(execFile)(process.execPath, args, { env })
  assert.match(stdout, /^\["a","b"\]\n2 calls in [\d.]+ s: rude:echo 2/)
})
