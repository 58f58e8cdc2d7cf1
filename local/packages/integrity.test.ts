/** Which packages are refused, and which of these are found for an approval. The installations are tested in integrity.slow.test.ts. */
import assert from 'node:assert/strict'
import { existsSync, lstatSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { PackageSource, Release } from '../../core/packages/install.ts'
import { changedPackages, createIntegrityRecords } from './integrity.ts'

const LONG = `@${'s'.repeat(100)}/${'p'.repeat(100)}`

const GREETER: PackageSource = { kind: 'npm', package: 'greeter', version: '1.0.0' }

function records(t: TestContext) {
  const cache = mkdtempSync(join(tmpdir(), 'portolan-integrity-'))
  t.after(() => rmSync(cache, { recursive: true, force: true }))
  const compare = createIntegrityRecords(cache)
  const release = (integrity?: string): Release => ({ version: '1.0.0', integrity })
  return { cache, compare, release }
}

test('a version without integrity is refused if it was recorded with one, and its record stays', async t => {
  const { cache, compare, release } = records(t)
  await compare(GREETER, release())
  assert.equal(existsSync(join(cache, 'integrity')), false)
  await compare(GREETER, release('sha512-first'))
  await assert.rejects(compare(GREETER, release()), {
    message: /its integrity is none, it was sha512-first\. .* delete \S+\.json and try again/,
    details: { reason: 'IntegrityChanged' },
  })
  assert.deepEqual(await changedPackages(cache, 'greeter'), [])
  await compare(GREETER, release('sha512-first'))
  await assert.rejects(compare(GREETER, release('sha512-other')), /it was sha512-first/)
})

test('a version is refused if its record exists but cannot be read', async t => {
  const { cache, compare, release } = records(t)
  await compare(GREETER, release('sha512-first'))
  const folder = join(cache, 'integrity')
  const [name = ''] = readdirSync(folder)
  rmSync(join(folder, name))
  symlinkSync(name, join(folder, name))
  for (const integrity of ['sha512-first', 'sha512-other', undefined])
    await assert.rejects(compare(GREETER, release(integrity)), {
      message: /it was not readable\. .* delete \S+\.json and try again/,
      details: { reason: 'IntegrityChanged' },
    })
  assert.ok(lstatSync(join(folder, name)).isSymbolicLink(), 'the record was replaced')
})

test('a refused package is found, however many other packages are recorded', async t => {
  const { cache, compare, release } = records(t)
  for (const name of ['@team/zebra', LONG]) {
    const source: PackageSource = { kind: 'npm', package: name, version: '1.0.0' }
    await compare(source, release('sha512-first'))
    await assert.rejects(compare(source, release('sha512-other')), /has other content/)
  }
  for (let at = 0; at < 1_000; at++) writeFileSync(join(cache, 'integrity', `npm-+${at}@1.0.0-0.json`), '{}')
  for (const name of ['@team/zebra', LONG]) {
    const found = await changedPackages(cache, name)
    assert.deepEqual(
      found.map(({ known, found }) => [known, found]),
      [['sha512-first', 'sha512-other']],
    )
  }
  assert.deepEqual(await changedPackages(cache, '@team/zeb'), [])
})
