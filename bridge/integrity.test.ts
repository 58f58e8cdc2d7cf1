/** How the bridge compares a package with its records. The installations are tested in integrity.slow.test.ts. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { PackageSource } from '../core/packages/install.ts'
import { createComparison } from './integrity.ts'

const NPM: PackageSource = { kind: 'npm', package: 'greeter' }
const PYPI: PackageSource = { ...NPM, kind: 'pypi' }
const KNOWN = { kind: 'npm', package: 'greeter', version: '1.0.0', integrity: 'sha512-one' }

function comparison(t: TestContext, known?: unknown, source = NPM) {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-integrity-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'packages.json')
  if (known !== undefined) writeFileSync(file, typeof known === 'string' ? known : JSON.stringify(known))
  return createComparison(source, file)
}

test('the same content, another version, and a new release without integrity are accepted', async t => {
  for (const [version, integrity] of [
    ['1.0.0', 'sha512-one'],
    ['1.0.1', 'sha512-two'],
  ] as const) {
    const { verify, record } = comparison(t, { records: [KNOWN] })
    await verify({ version, integrity })
    assert.deepEqual(record(), { ...KNOWN, version, integrity })
  }
  const { verify, record } = comparison(t, { records: [KNOWN] })
  await verify({ version: '1.0.1', integrity: undefined })
  assert.equal(record(), undefined)
})

test('a release without integrity is refused if its version was recorded with one', async t => {
  const { verify, record } = comparison(t, { records: [KNOWN], approved: 'sha512-two' })
  await assert.rejects(verify({ version: '1.0.0', integrity: undefined }), {
    message: /its integrity is none, it was sha512-one\. .* delete the pods of the server and the ConfigMap /,
    details: { reason: 'IntegrityChanged' },
  })
  assert.equal(record(), undefined)
  const wheel = { ...KNOWN, kind: 'pypi', platform: `${process.platform}-${process.arch}-python3.12` }
  const other = comparison(t, { records: [wheel] }, PYPI)
  await other.verify({ version: '1.0.0', variant: 'python3.13', integrity: undefined })
  const same = { version: '1.0.0', variant: 'python3.12', integrity: undefined }
  await assert.rejects(other.verify(same), /its integrity is none/)
})

test('changed content is refused unless its digest was approved', async t => {
  const release = { version: '1.0.0', integrity: 'sha512-two' }
  for (const approved of [undefined, 'sha512-three', '8c1f00']) {
    const { verify, record } = comparison(t, { records: [KNOWN], approved })
    await assert.rejects(verify(release), { details: { reason: 'IntegrityChanged' } })
    assert.equal(record(), undefined)
  }
  const { verify, record } = comparison(t, { records: [KNOWN], approved: 'sha512-two' })
  await verify(release)
  assert.equal(record()?.integrity, 'sha512-two')
})

test('wheels are compared only with those for the same platform and Python', async t => {
  const release = { version: '1.0.0', variant: 'python3.12', integrity: 'files-sha256-one' }
  const first = comparison(t, undefined, PYPI)
  await first.verify(release)
  const known = { records: [first.record()] }
  await comparison(t, known, PYPI).verify({
    ...release,
    variant: 'python3.13',
    integrity: 'files-sha256-two',
  })
  await assert.rejects(comparison(t, known, PYPI).verify({ ...release, integrity: 'files-sha256-two' }))
})

test('every package is refused if the records cannot be read', async t => {
  for (const known of ['damaged', {}, { records: [{ kind: 'npm' }] }]) {
    const refused = comparison(t, known).verify({ version: '1.0.0', integrity: 'sha512-one' })
    await assert.rejects(refused, /^Fault: The records of installed packages in .* cannot be read: /)
  }
})
