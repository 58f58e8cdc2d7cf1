/** Fetching the model before a start; a failure is reported, and not repeated at the next start. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { MODEL_FILE } from '../../core/encoder/model-place.ts'

const SCRIPT = `
  import { readyModel } from '${new URL('../../scripts/model.mjs', import.meta.url)}'
  const ready = await readyModel(process.execPath, process.env, { sure: process.env.SURE === '1' })
  console.log(JSON.stringify(ready))`

/** A machine without pip and uv. */
function machine(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-ready-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  symlinkSync('/bin/sh', join(bin, 'sh'))
  return {
    cache: folder,
    async ready(more: Record<string, string> = {}) {
      const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', SCRIPT]
      const env = { PATH: bin, PORTOLAN_CACHE: folder, ...more }
      const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { env })
      return { ready: JSON.parse(stdout) as boolean, stderr }
    },
  }
}

test('a failed fetch is reported, and repeated soon only with `sure`', async t => {
  const { cache, ready } = machine(t)
  const first = await ready()
  assert.equal(first.ready, false)
  assert.match(first.stderr, /fetching the model.*Neither pip nor uv was found.*words alone.*--from FILE/s)
  assert.deepEqual(readdirSync(join(cache, 'model')).sort(), ['fetch.lock', `${MODEL_FILE}.failed`])
  const second = await ready()
  assert.equal(second.ready, false)
  assert.equal(
    second.stderr,
    'portolan: search matches words only, because the model could not be fetched recently; `npx portolan model` tries again\n',
  )
  const sure = await ready({ SURE: '1' })
  assert.match(sure.stderr, /Neither pip nor uv/)
})

test('an existing model is used without a check, except with `sure`', async t => {
  const { cache, ready } = machine(t)
  mkdirSync(join(cache, 'model'))
  writeFileSync(join(cache, 'model', MODEL_FILE), 'not a model')
  assert.deepEqual(await ready(), { ready: true, stderr: '' })
  const sure = await ready({ SURE: '1' })
  assert.equal(sure.ready, false)
  assert.match(sure.stderr, /Neither pip nor uv/)
})
