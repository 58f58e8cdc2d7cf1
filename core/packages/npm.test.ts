/** Why an installation with npm failed. npm is a script of the test. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { installPackage } from './install.ts'

/** Without a script there is no npm. */
function install(t: TestContext, script?: string) {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-npm-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  if (script) writeFileSync(join(bin, 'npm'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return installPackage({ kind: 'npm', package: 'greeter', version: '1.0.0' }, join(folder, 'package'), {
    env: { PATH: bin },
    signal: new AbortController().signal,
  })
}

test('an installation without npm says that npm is missing', async t => {
  await assert.rejects(install(t), {
    message: /^npm was not found on the PATH\./,
    details: { reason: 'PackageManagerMissing' },
  })
})

test('what npm prints is the reason of its failure, whatever it says', async t => {
  await assert.rejects(install(t, "echo 'node-gyp: `make` could not be started: spawn ENOENT' >&2; exit 1"), {
    message:
      /^greeter could not be installed\. `npm install .*` ended with code 1:\nnode-gyp: `make` could not be/,
    details: { reason: 'InstallFailed' },
  })
})
