/** The vector cache across restarts, with truncated, damaged, foreign or too many records, and without write access. */
import assert from 'node:assert/strict'
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { cpuMs } from '../../test/support/cpu-time.ts'
import type { Vector } from '../catalog/vectors.ts'
import { openVectorCache, type VectorCacheOptions } from './vector-cache.ts'

const RECORD_BYTES = 30 + 16

const keyOf = (id: number): string => `key-${id}`.padEnd(22, '_')
const vectorOf = (id: number): Vector => ({
  scale: Math.fround(id / 100),
  values: Int8Array.from({ length: 16 }, (_, i) => i - id),
})

function newOptions(t: TestContext, given: Partial<VectorCacheOptions> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-vectors-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'a', 'vectors')
  return { file, encoder: 'test/1', dimensions: 16, maxVectors: 100, ...given }
}

async function fill(options: VectorCacheOptions, ids: number[]): Promise<void> {
  const cache = await openVectorCache(options)
  for (const id of ids) cache.put(keyOf(id), vectorOf(id))
  await cache.close()
}

async function found(options: VectorCacheOptions, ids: number[]): Promise<number[]> {
  const cache = await openVectorCache(options)
  await cache.close()
  return ids.filter(id => {
    const vector = cache.get(keyOf(id))
    if (vector) assert.deepEqual(vector, vectorOf(id))
    return vector !== undefined
  })
}

test('a vector can be read immediately and after a restart', async t => {
  const options = newOptions(t)
  const cache = await openVectorCache(options)
  cache.put(keyOf(1), vectorOf(1))
  assert.deepEqual(cache.get(keyOf(1)), vectorOf(1))
  assert.equal(cache.get(keyOf(2)), undefined)
  await cache.close()
  await fill(options, [2, 3, 1])
  assert.deepEqual(await found(options, [1, 2, 3, 4]), [1, 2, 3])
  assert.equal(statSync(options.file).size, 3 * RECORD_BYTES)
})

test('only a truncated record itself is lost, and the next start repairs the file', async t => {
  const options = newOptions(t)
  await fill(options, [1, 2, 3])
  writeFileSync(options.file, readFileSync(options.file).subarray(0, 2.5 * RECORD_BYTES))
  assert.deepEqual(await found(options, [1, 2, 3]), [1, 2])
  assert.equal(statSync(options.file).size, 2 * RECORD_BYTES)
  await fill(options, [4])
  assert.deepEqual(await found(options, [1, 2, 3, 4]), [1, 2, 4])
})

test('damaged records, those of another encoder, and garbage are ignored', async t => {
  const options = newOptions(t)
  await fill(options, [1, 2, 3])
  const bytes = readFileSync(options.file)
  bytes[RECORD_BYTES + 40] = (bytes[RECORD_BYTES + 40] as number) ^ 1
  writeFileSync(options.file, bytes)
  assert.deepEqual(await found(options, [1, 2, 3]), [1, 3])
  assert.deepEqual(await found({ ...options, encoder: 'test/2' }, [1, 2, 3]), [])
  writeFileSync(options.file, 'x'.repeat(1_000))
  assert.deepEqual(await found(options, [1, 2, 3]), [])
  assert.equal(statSync(options.file).size, 0)
})

test('only the newest vectors are kept, in memory and on disk', async t => {
  const options = newOptions(t, { maxVectors: 3 })
  await fill(options, [1, 2, 3])
  await fill(options, [4, 5])
  assert.equal(statSync(options.file).size, 5 * RECORD_BYTES)
  assert.deepEqual(await found(options, [1, 2, 3, 4, 5]), [3, 4, 5])
  assert.equal(statSync(options.file).size, 3 * RECORD_BYTES)
  const cache = await openVectorCache(options)
  for (const id of [6, 7, 8, 9]) cache.put(keyOf(id), vectorOf(id))
  assert.deepEqual(
    [6, 7, 8, 9].map(id => cache.get(keyOf(id)) !== undefined),
    [false, true, true, true],
  )
  await cache.close()
  assert.equal(statSync(options.file).size, 6 * RECORD_BYTES)
})

test('two caches that share a file do not lose records of each other', async t => {
  const options = newOptions(t)
  const [one, other] = await Promise.all([openVectorCache(options), openVectorCache(options)])
  for (let id = 0; id < 20; id++) {
    one.put(keyOf(2 * id), vectorOf(2 * id))
    other.put(keyOf(2 * id + 1), vectorOf(2 * id + 1))
    if (id % 5 === 0) await new Promise(setImmediate)
  }
  await Promise.all([one.close(), other.close()])
  const ids = Array.from({ length: 40 }, (_, id) => id)
  assert.deepEqual(await found(options, ids), ids)
})

test('if the file cannot be written, the cache works in memory, and the failure is reported once', async t => {
  const failures: unknown[] = []
  const options = newOptions(t, { onFailure: error => failures.push(error) })
  writeFileSync(join(options.file, '..', '..', 'a'), 'in the way')
  const cache = await openVectorCache(options)
  cache.put(keyOf(1), vectorOf(1))
  await cache.close()
  cache.put(keyOf(2), vectorOf(2))
  await cache.close()
  assert.deepEqual(cache.get(keyOf(1)), vectorOf(1))
  assert.equal(failures.length, 1)
})

test('rewriting leaves no temporary file, and keys or vectors of another size are ignored', async t => {
  const options = newOptions(t)
  await fill(options, [1])
  appendFileSync(options.file, 'torn')
  const cache = await openVectorCache(options)
  cache.put('short', vectorOf(1))
  cache.put(keyOf(2), { scale: 1, values: new Int8Array(8) })
  await cache.close()
  assert.deepEqual(readdirSync(join(options.file, '..')), ['vectors'])
  assert.equal(statSync(options.file).size, RECORD_BYTES)
})

test('the vectors of 10,000 tools are read in less than half a second', async t => {
  const options = newOptions(t, { dimensions: 384, maxVectors: 20_000 })
  const cache = await openVectorCache(options)
  for (let id = 0; id < 10_000; id++) cache.put(keyOf(id), { scale: 1, values: new Int8Array(384).fill(id) })
  await cache.close()
  const started = cpuMs()
  const again = await openVectorCache(options)
  assert.ok(cpuMs() - started < 500)
  assert.deepEqual(again.get(keyOf(9_999))?.values, new Int8Array(384).fill(9_999))
  await again.close()
})
