/** `portolan model` as a process: downloaded once by concurrent runs, and never left incomplete. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { MODEL_FILE } from '../core/encoder/model-place.ts'
import { skipModel, testModelFile } from '../test/support/model.ts'
import { startPortolan } from '../test/support/portolan.ts'
import { serve } from '../test/upstreams/http/serve.ts'

const skip = skipModel()
const ETAG = '"model"'

type Ended = { code: number | null; stdout: string; stderr: string }

function begin(cache: string, ...args: string[]) {
  const env = { PORTOLAN_CACHE: cache, PORTOLAN_MODEL: '', no_proxy: '127.0.0.1' }
  const child = startPortolan(['model', ...args], env)
  const texts = { stdout: '', stderr: '' }
  child.stdout.on('data', text => (texts.stdout += text))
  child.stderr.on('data', text => (texts.stderr += text))
  const ended = once(child, 'close').then(([code]): Ended => ({ code, ...texts }))
  return { child, ended }
}

/** Serves the model file from the requested byte on. With `hold`, the first answer stops after half of the file, and `hold` is called. */
async function setUp(t: TestContext, hold?: (response: ServerResponse) => void) {
  const cache = mkdtempSync(join(tmpdir(), 'portolan-model-command-'))
  const model = readFileSync(testModelFile())
  const ranges: (string | undefined)[] = []
  const { origin, close } = await serve((request, response) => {
    const { range } = request.headers
    const from = Number(/bytes=(\d+)-/.exec(range ?? '')?.[1] ?? 0)
    const rest = `bytes ${from}-${model.length - 1}/${model.length}`
    const headers = { etag: ETAG, 'content-length': model.length - from }
    response.writeHead(from > 0 ? 206 : 200, { ...headers, ...(from > 0 ? { 'content-range': rest } : {}) })
    if (hold && ranges.length === 0) response.write(model.subarray(0, model.length / 2), () => hold(response))
    else response.end(model.subarray(from))
    ranges.push(range)
  })
  t.after(async () => {
    await close()
    rmSync(cache, { recursive: true })
  })
  const file = join(cache, 'model', MODEL_FILE)
  return { cache, file, model, ranges, url: `${origin}/minilm.bin` }
}

test('of two concurrent fetches only one downloads; a third uses the file; a damaged file is fetched again', {
  skip,
}, async t => {
  const { cache, file, model, ranges, url } = await setUp(t)
  const both = await Promise.all([0, 1].map(() => begin(cache, '--from', url, '-o', 'json').ended))
  assert.deepEqual(
    both.map(({ code }) => code),
    [0, 0],
    JSON.stringify(both),
  )
  const states = both.map(({ stdout }) => JSON.parse(stdout).state)
  assert.deepEqual(states.sort(), ['fetched', 'there'])
  assert.equal(ranges.length, 1)
  assert.deepEqual(readFileSync(file), model)
  assert.deepEqual(readdirSync(join(cache, 'model')).sort(), ['fetch.lock', MODEL_FILE])
  const third = await begin(cache, '--from', 'nowhere').ended
  assert.equal(third.stdout, `The model is there: ${file} (23 MB)\n`)
  writeFileSync(file, model.subarray(0, 1000))
  const refetched = await begin(cache, '--from', url).ended
  assert.deepEqual([refetched.code, refetched.stderr], [0, ''])
  assert.deepEqual(readFileSync(file), model)
})

test('Ctrl-C leaves no incomplete model, and the next fetch resumes the download', { skip }, async t => {
  const half = Promise.withResolvers<void>()
  const { cache, file, model, ranges, url } = await setUp(t, () => half.resolve())
  const { child, ended } = begin(cache, '--from', url)
  await half.promise
  const part = `${file}.download.part`
  while (!existsSync(part) || statSync(part).size < model.length / 2) await new Promise(setImmediate)
  child.kill('SIGINT')
  const { code, stderr } = await ended
  assert.equal(code, 130)
  assert.match(stderr, /stopped; `portolan model` takes it up again/)
  assert.equal(existsSync(file), false)
  const again = await begin(cache, '--from', url).ended
  assert.equal(again.code, 0, again.stderr)
  assert.deepEqual(ranges, [undefined, `bytes=${Math.floor(model.length / 2)}-`])
  assert.deepEqual(readFileSync(file), model)
})

test('the error of a failed fetch names other ways, and an existing model is kept', { skip }, async t => {
  const { cache, file, model, url } = await setUp(t)
  const { code, stdout, stderr } = await begin(cache, '--from', 'package.json').ended
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, /package\.json is not the model.*words alone.*--from FILE/s)
  await begin(cache, '--from', url).ended
  const kept = await begin(cache, '--force', '--from', 'package.json').ended
  assert.match(kept.stderr, /The present model stays in use/)
  assert.deepEqual(readFileSync(file), model)
})
