/** Installations that are kept on a volume: real installations with npm, and uv or pip, from a test registry. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { reportOf, startInstaller } from '../test/support/installer.ts'
import { readStart } from './install.ts'

for (const kind of ['npm', 'pypi'] as const) {
  test(`${kind}: the next pod uses the installation on the volume without a registry, and reports it again`, async t => {
    const { registry, folder, install } = await startInstaller(t, kind)
    const first = await install('--keep')
    assert.match(first.stderr, /^installed greeter 1\.0\.0$/m)
    const { command, args } = await readStart(join(folder, 'start.json'))
    assert.ok([command, ...args].some(path => path.startsWith(folder) && existsSync(path)))
    await registry.close()
    const next = await install('--keep')
    assert.match(next.stderr, /^already installed: greeter 1\.0\.0$/m)
    assert.deepEqual(reportOf(next), reportOf(first))
  })
}

test('pods that start at the same time leave one complete installation', async t => {
  const { folder, install } = await startInstaller(t, 'npm')
  const results = await Promise.all([install('--keep'), install('--keep')])
  assert.ok(results.some(({ code }) => code === 0))
  assert.equal((await install('--keep')).code, 0)
  const { args } = await readStart(join(folder, 'start.json'))
  assert.ok(args.every(existsSync))
})

test('an incomplete installation is repeated, and folders of killed installers are removed', async t => {
  const { folder, install } = await startInstaller(t, 'npm')
  await install('--keep')
  const startFile = join(folder, 'start.json')
  const left = join(folder, 'package-left')
  mkdirSync(left)
  utimesSync(left, 0, 0)
  const busy = join(folder, 'package-busy')
  mkdirSync(busy)
  const { args } = await readStart(startFile)
  rmSync(args[0] ?? '')
  assert.match((await install('--keep')).stderr, /^installed/m)
  assert.deepEqual([existsSync(left), existsSync(busy)], [false, true])
  assert.match((await install('--keep')).stderr, /^already installed/m)
  assert.equal(readdirSync(folder).filter(name => name.startsWith('start.json')).length, 1)
  assert.equal(JSON.parse(readFileSync(startFile, 'utf8')).release.version, '1.0.0')
})

test('an installation on the volume is refused if its content differs from the first record', async t => {
  const { install, keep } = await startInstaller(t, 'npm')
  const record = reportOf(await install('--keep'))
  keep({ records: [{ ...record, integrity: 'sha512-other' }] })
  const refused = await install('--keep')
  assert.equal(refused.code, 1)
  assert.match(refused.message, /^IntegrityChanged: greeter 1\.0\.0 of npm has other content/)
  keep({ records: [{ ...record, integrity: 'sha512-other' }], approved: record.integrity })
  assert.deepEqual(reportOf(await install('--keep')), record)
})
