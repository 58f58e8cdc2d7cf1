/** Gateways that start at once with the same cache. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { sessionKey } from './session-key.ts'

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'portolan-key-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

test('gateways that start at once with a new cache have the same key, in a folder of their owner', async t => {
  const cache = join(folder(t), 'cache')
  const keys = await Promise.all(Array.from({ length: 20 }, () => sessionKey(cache)))
  const kept = readFileSync(join(cache, 'session-key'))
  assert.equal(kept.length, 32)
  for (const key of keys) assert.deepEqual(key, kept)
  assert.deepEqual(await sessionKey(cache), kept)
  assert.equal(statSync(cache).mode & 0o777, 0o700)
  assert.deepEqual(readdirSync(cache), ['session-key'])
})

test('a damaged key is replaced', async t => {
  const cache = folder(t)
  writeFileSync(join(cache, 'session-key'), 'short')
  const key = await sessionKey(cache)
  assert.equal(key.length, 32)
  assert.deepEqual(await sessionKey(cache), key)
  assert.deepEqual(readdirSync(cache), ['session-key'])
})
