/** How the files of an installed PyPI package are found. The installer is a script that makes the files of the test. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { installPackage, type Release } from './install.ts'

const SITE = 'lib/python3.11/site-packages'
const INFO = `${SITE}/greeter-1.0.0.dist-info`
const SCRIPTS = '[console_scripts]\ngreeter = greeter:main\n'
const WHEEL: Files = {
  [`${SITE}/greeter.py`]: 'print(1)',
  [`${INFO}/entry_points.txt`]: SCRIPTS,
  [`${INFO}/RECORD`]: 'greeter.py,,\n',
}

type Files = Record<string, string>

/** Installs a package with these files. Resolves with what was compared with the records. */
async function install(t: TestContext, files: Files): Promise<Release[]> {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-pypi-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) {
    const file = join(folder, 'made', 'venv', name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  const copy = `if [ "$1" = pip ]; then cp -R ${folder}/made/venv .; fi`
  writeFileSync(join(folder, 'uv'), `#!/bin/sh\n${copy}\n`, { mode: 0o755 })
  const compared: Release[] = []
  await installPackage({ kind: 'pypi', package: 'greeter', version: '1.0.0' }, join(folder, 'package'), {
    env: { PATH: `${folder}:${process.env.PATH}` },
    signal: new AbortController().signal,
    verify: async release => {
      compared.push(release)
    },
  })
  return compared
}

test('a package with one folder of metadata is compared', async t => {
  const [release] = await install(t, { ...WHEEL, [`${SITE}/greeter_more-1.0.0.dist-info/RECORD`]: '' })
  assert.equal(release?.version, '1.0.0')
  assert.equal(release?.variant, 'python3.11')
  assert.match(release?.integrity ?? '', /^files-sha256-/)
})

test('a second folder that could be that of the metadata is an error, because only one is compared', async t => {
  for (const other of [
    `${SITE}/Greeter-1.0.dist-info`,
    `${SITE}/greeter-0.9.dist-info`,
    'lib/python3.1/site-packages/greeter-1.0.0.dist-info',
  ]) {
    const files = { ...WHEEL, [`${other}/RECORD`]: '', [`${other}/entry_points.txt`]: SCRIPTS }
    await assert.rejects(install(t, files), {
      message: /^greeter could not be installed\. There is more than one folder for its metadata: .*, /,
      details: { reason: 'InstallFailed' },
    })
  }
})

test('a package without metadata is an error', async t => {
  await assert.rejects(install(t, { [`${SITE}/greeter.py`]: '' }), /Its metadata was not found/)
})
