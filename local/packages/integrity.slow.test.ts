/** A version whose content has changed is refused: real installations with npm, and uv or pip, from a test registry. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../core/async.ts'
import type { PackageSource } from '../../core/packages/install.ts'
import { runPortolan } from '../../test/support/portolan.ts'
import { startRegistry } from '../../test/upstreams/registry.ts'
import { createPackages } from './packages.ts'

const NPM: PackageSource = { kind: 'npm', package: 'greeter', version: '1.0.0' }
const PYPI: PackageSource = { ...NPM, kind: 'pypi' }

async function setUp(t: TestContext) {
  const registry = await startRegistry()
  const folder = mkdtempSync(join(tmpdir(), 'portolan-integrity-'))
  t.after(async () => {
    await registry.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const entries = Object.entries(process.env).flatMap(([key, value]) =>
    value ? [[key, value] as const] : [],
  )
  const packages = createPackages({
    folder,
    env: {
      ...Object.fromEntries(entries),
      npm_config_registry: registry.npm,
      npm_config_cache: join(folder, 'npm'),
      UV_INDEX_URL: registry.pypi,
      UV_NO_CACHE: '1',
      PIP_INDEX_URL: registry.pypi,
      PIP_NO_CACHE_DIR: '1',
    },
    clock: systemClock,
    signal: new AbortController().signal,
    onProgress: () => {},
  })
  const uninstall = () => rmSync(join(folder, 'packages'), { recursive: true, force: true })
  return { registry, folder, packages, uninstall }
}

/** Runs `portolan approve greeter` as a process. */
async function approve(folder: string, ...args: string[]): Promise<string> {
  const { stdout, stderr } = await runPortolan(['approve', 'greeter', ...args], { PORTOLAN_CACHE: folder })
  return `${stdout}${stderr}`
}

test('pypi: modules are compiled, since a server may be unable to write them', async t => {
  const { folder, packages } = await setUp(t)
  await packages.ensure(PYPI)
  const files = readdirSync(join(folder, 'packages'), { recursive: true }).map(String)
  assert.ok(files.some(file => /site-packages\/__pycache__\/greeter\.[^/]+\.pyc$/.test(file)))
})

for (const source of [NPM, PYPI]) {
  test(`${source.kind}: the same content can be installed again, changed content of the same version is refused`, async t => {
    const { registry, folder, packages, uninstall } = await setUp(t)
    await packages.ensure(source)
    uninstall()
    await packages.ensure(source)
    uninstall()
    const ran = join(folder, 'ran')
    await registry.republish(`touch ${ran}`)
    await assert.rejects(packages.ensure(source), error => {
      assert.ok(error instanceof Error)
      assert.match(error.message, /greeter 1\.0\.0 .* other content .* integrity is \S+, it was \S+\. /)
      assert.deepEqual((error as { details?: object }).details, { reason: 'IntegrityChanged' })
      return true
    })
    assert.equal(existsSync(ran), false, 'a script of the package ran')
    const [record = ''] = readdirSync(join(folder, 'integrity'))
    const file = join(folder, 'integrity', record)
    const output = await approve(folder, '--diff')
    assert.match(
      output,
      /^greeter 1\.0\.0 of \w+ has other content under the same version:\n {2}integrity: \[-\S+-\]\{\+\S+\+\}/,
    )
    const [, digest = ''] = /--digest "(.+)"/.exec(output) ?? []
    assert.match(
      await approve(folder, '--digest', digest),
      /: approved .* The next start of its server installs it/,
    )
    await packages.ensure(source)
    uninstall()
    assert.match(await approve(folder), /nothing was approved of a server "greeter"/)
    writeFileSync(file, 'damaged')
    await assert.rejects(packages.ensure(source), /it was not readable/)
    rmSync(file)
    await packages.ensure(source)
  })
}

test('npm: a version that was recorded is refused if the registry no longer tells its digest', async t => {
  const { registry, folder, packages, uninstall } = await setUp(t)
  await packages.ensure(NPM)
  uninstall()
  const ran = join(folder, 'ran')
  await registry.republish(`touch ${ran}`)
  registry.omitDigests()
  await assert.rejects(packages.ensure(NPM), /its integrity is none, it was sha512-/)
  assert.equal(existsSync(ran), false, 'a script of the package ran')
})
