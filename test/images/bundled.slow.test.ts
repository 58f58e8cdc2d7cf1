/** The bundle of a clone: rebuilt only when its sources change, and safe for concurrent starts. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { appendFileSync, mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { readyBundle } from '../../scripts/bundled.mjs'
import { cloneTo } from './clone.ts'

test('a clone is bundled again only when a source changes, and concurrent starts get the same bundle', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-clone-'))
  t.after(() => rmSync(folder, { recursive: true }))
  cloneTo(folder)
  const ready = () => readyBundle(process.execPath, folder)
  const version = async (bundle: string) =>
    (await promisify(execFile)(process.execPath, [join(bundle, 'portolan.js'), '--version'])).stdout
  const [first, concurrent] = await Promise.all([ready(), ready()])
  assert.equal(concurrent, first)
  assert.match(await version(first), /^\d+\.\d+\.\d+\n$/)

  const source = join(folder, 'cli', 'main.ts')
  utimesSync(source, new Date(), new Date())
  assert.equal(await ready(), first)

  appendFileSync(source, "process.stdout.write('changed\\n')\n")
  const second = await ready()
  assert.notEqual(second, first)
  assert.match(await version(second), /changed/)
  const bundles = readdirSync(join(first, '..')).sort()
  assert.deepEqual(
    bundles,
    [...[first, second].map(path => path.slice(join(first, '..').length + 1)), 'current.json'].sort(),
  )

  appendFileSync(source, 'const broken = (\n')
  await assert.rejects(ready(), /could not be bundled.*cli\/main\.ts/s)
})
