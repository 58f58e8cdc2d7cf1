/** Packages: real installations from npm and PyPI into a cache that all tests of this file share. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { systemClock } from '../../core/async.ts'
import { Fault } from '../../core/errors.ts'
import { marked, untilGone } from '../../test/support/processes-left.ts'
import { until } from '../../test/support/until.ts'
import { createPackages, type Packages } from './packages.ts'

const cache = mkdtempSync(join(tmpdir(), 'portolan-packages-'))
after(() => rmSync(cache, { recursive: true, force: true }))
const SEMVER = { kind: 'npm', package: 'semver', version: '7.7.2' } as const

function open(env: Record<string, string | undefined> = {}): {
  packages: Packages
  progress: string[]
  abort: AbortController
} {
  const progress: string[] = []
  const abort = new AbortController()
  const merged = Object.entries({ ...process.env, ...env }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  )
  const packages = createPackages({
    folder: cache,
    env: Object.fromEntries(merged),
    clock: systemClock,
    signal: abort.signal,
    onProgress: message => progress.push(message),
  })
  return { packages, progress, abort }
}

const offline = {
  npm_config_registry: 'http://127.0.0.1:9',
  npm_config_fetch_retries: '0',
  npm_config_cache: join(cache, 'npm'),
}

test('a package is installed once for many callers, and started from the cache without network', async () => {
  const { packages, progress } = open()
  const commands = await Promise.all([
    packages.ensure(SEMVER),
    packages.ensure(SEMVER),
    packages.ensure(SEMVER),
  ])
  assert.equal(commands[0].command, process.execPath)
  assert.equal(commands[0].version, '7.7.2')
  assert.equal(progress.filter(line => line.startsWith('installing')).length, 1)
  const again = open(offline)
  const command = await again.packages.ensure(SEMVER)
  assert.deepEqual(again.progress, [])
  const { stdout } = await promisify(execFile)(command.command, [...command.args, '1.2.3'])
  assert.equal(stdout.trim(), '1.2.3')
})

test('the error for a missing version contains the message of npm, and no files are left', async () => {
  const { packages } = open()
  await assert.rejects(packages.ensure({ ...SEMVER, version: '99.99.99' }), (error: unknown) => {
    assert.ok(error instanceof Fault)
    assert.equal(error.details.reason, 'InstallFailed')
    assert.match(error.message, /99\.99\.99/)
    return true
  })
  const left = readdirSync(join(cache, 'packages'), { recursive: true }).filter(path =>
    String(path).includes('99.99.99'),
  )
  assert.ok(
    left.every(path => String(path).endsWith('.lock')),
    left.join(),
  )
})

test('without npm, uv and python an installation fails with PackageManagerMissing', async () => {
  const { packages } = open({ PATH: cache })
  for (const source of [
    { ...SEMVER, version: '7.7.1' },
    { kind: 'pypi', package: 'mcp-server-time', version: '1' } as const,
  ])
    await assert.rejects(packages.ensure(source), { details: { reason: 'PackageManagerMissing' } })
})

test('an installation is cancelled when the gateway closes', async () => {
  const { packages, abort } = open()
  const work = packages.ensure({ kind: 'npm', package: 'semver', version: '7.6.3' })
  abort.abort()
  await assert.rejects(work)
})

test('an installer does not outlive a gateway that is killed', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-killed-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const mark = `mark-${process.pid}-${Date.now()}`
  writeFileSync(join(folder, 'npm'), `#!/bin/sh\nexec /bin/sh -c 'sleep 60; : ${mark}'\n`, { mode: 0o755 })
  const script = fileURLToPath(new URL('../../test/support/install-forever.ts', import.meta.url))
  const gateway = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, folder], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  t.after(() => gateway.kill('SIGKILL'))
  const [line] = await Promise.race([once(gateway.stdout, 'data'), once(gateway, 'exit')])
  assert.equal(String(line), 'watched\n', 'the gateway ended before it ran the installer')
  await until(() => marked(mark).length > 0)
  gateway.kill('SIGKILL')
  assert.deepEqual(await untilGone(mark), [])
})

test('the error for a missing program names the programs of the package', async () => {
  const { packages } = open()
  await assert.rejects(packages.ensure({ ...SEMVER, bin: 'nope' }), /it has semver/)
})

test('a PyPI package is started by its console script', { skip: !existsSync('/bin/sh') }, async () => {
  const { packages } = open()
  const command = await packages.ensure({ kind: 'pypi', package: 'cowsay', version: '6.1' })
  assert.equal(command.version, '6.1')
  const { stdout } = await promisify(execFile)(command.command, ['-t', 'ahoy'])
  assert.match(stdout, /ahoy/)
})

test('a PyPI package is installed again if the Python of its environment is gone', {
  skip: !existsSync('/bin/sh'),
}, async () => {
  const source = { kind: 'pypi', package: 'cowsay', version: '6.1' } as const
  const { command } = await open().packages.ensure(source)
  const python = join(dirname(command), 'python')
  rmSync(python)
  symlinkSync(join(cache, 'upgraded', 'python'), python)
  const { packages, progress } = open()
  await packages.ensure(source)
  assert.match(progress[0] ?? '', /^installing cowsay@6.1/)
  assert.ok(existsSync(python))
})
