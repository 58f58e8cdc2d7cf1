/** Which refused packages are found for an approval. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { PackageSource } from '../../core/packages/install.ts'
import { changedPackages, createIntegrityRecords } from './integrity.ts'

const LONG = `@${'s'.repeat(100)}/${'p'.repeat(100)}`

test('a refused package is found, however many other packages are recorded', async t => {
  const cache = mkdtempSync(join(tmpdir(), 'portolan-integrity-'))
  t.after(() => rmSync(cache, { recursive: true, force: true }))
  const compare = createIntegrityRecords(cache)
  const release = (integrity: string) => ({ version: '1.0.0', integrity }) as Parameters<typeof compare>[1]
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
