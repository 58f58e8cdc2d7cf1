/** What code that runs during an installation can read of the user's environment. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { createPackages } from './packages.ts'

const UV = '#!/bin/sh\nenv > "$HOME/environment"\n[ "$1" = --version ]\n'

test('installers get what package managers and compilers need, but not tokens of other programs', async t => {
  const home = mkdtempSync(join(tmpdir(), 'portolan-environment-'))
  t.after(() => rmSync(home, { recursive: true, force: true }))
  writeFileSync(join(home, 'uv'), UV, { mode: 0o700 })
  const kept = {
    HOME: home,
    PATH: `${home}:/usr/bin:/bin`,
    npm_config_registry: 'r',
    NPM_TOKEN: 't',
    NODE_AUTH_TOKEN: 't',
    UV_INDEX_URL: 'u',
    PIP_INDEX_URL: 'p',
    PYTHONUSERBASE: 'b',
    PYENV_VERSION: 'v',
    Https_Proxy: 'x',
    no_proxy: 'n',
    SSL_CERT_DIR: 'd',
    NODE_EXTRA_CA_CERTS: 'c',
    CC: 'clang',
    CXXFLAGS: '-O2',
  }
  const withheld = { GITHUB_TOKEN: 't', PORTOLAN_TOKEN: 't', AWS_SECRET_ACCESS_KEY: 's', MY_NPM_TOKEN: 't' }
  const packages = createPackages({
    folder: join(home, 'cache'),
    env: { ...kept, ...withheld },
    clock: createManualClock(),
    signal: new AbortController().signal,
    onProgress: () => {},
  })
  await assert.rejects(packages.ensure({ kind: 'pypi', package: 'any', version: '1.0.0' }), {
    details: { reason: 'InstallFailed' },
  })
  const lines = readFileSync(join(home, 'environment'), 'utf8').split('\n')
  for (const [name, value] of Object.entries(kept)) assert.ok(lines.includes(`${name}=${value}`), name)
  for (const name of Object.keys(withheld)) assert.ok(!lines.some(line => line.startsWith(`${name}=`)), name)
})
