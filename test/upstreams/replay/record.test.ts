/** A catalog that `npm run record` records from a replayed server equals the replayed one. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { readOwn, readRecorded } from './catalogs.ts'

const run = promisify(execFile)
const QUIET = '--disable-warning=ExperimentalWarning'
const root = join(import.meta.dirname, '..', '..', '..')

test('a catalog recorded from a replayed server equals the replayed one', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-record-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const [own] = readOwn()
  assert.ok(own)
  const server = [process.execPath, QUIET, join(import.meta.dirname, 'stdio.ts'), `own:${own.name}`]
  await run(process.execPath, [QUIET, join(root, 'scripts', 'record.ts'), folder, '--', ...server])
  const [recorded] = readRecorded(folder)
  assert.deepEqual(new Set(recorded?.tools), new Set(own.tools))
  assert.deepEqual(recorded?.serverInfo, own.serverInfo)
  assert.equal(recorded?.protocolVersion, own.protocolVersion)
})

test('if a server cannot be recorded, the exit code is 1', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-record-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const failing = [process.execPath, '-e', 'process.exit(3)']
  const recording = run(process.execPath, [
    QUIET,
    join(root, 'scripts', 'record.ts'),
    folder,
    '--',
    ...failing,
  ])
  await assert.rejects(recording, { code: 1 })
})
