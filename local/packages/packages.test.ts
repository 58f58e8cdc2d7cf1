/** When a package is installed again. The installer is a script that makes the environment of a PyPI package. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../core/async.ts'
import { createPackages } from './packages.ts'

const UV = `#!/bin/sh
if [ "$1" = pip ]; then
  version=$(readlink SYSTEM/python3)
  info=venv/lib/$version/site-packages/greeter-1.0.0.dist-info
  mkdir -p $info venv/bin
  printf '[console_scripts]\\ngreeter = greeter:main\\n' > $info/entry_points.txt
  touch $info/RECORD venv/bin/greeter
  ln -s SYSTEM/python3 venv/bin/python
fi
`

test('a PyPI package is installed again if its Python has another version since an upgrade', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-upgrade-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const system = join(folder, 'system')
  mkdirSync(system)
  writeFileSync(join(system, 'uv'), UV.replaceAll('SYSTEM', system), { mode: 0o755 })
  const useVersion = (version: string) => {
    writeFileSync(join(system, version), '#!/bin/sh\n', { mode: 0o755 })
    rmSync(join(system, 'python3'), { force: true })
    symlinkSync(version, join(system, 'python3'))
  }
  const install = async () => {
    const progress: string[] = []
    const packages = createPackages({
      folder,
      env: { PATH: `${system}:${process.env.PATH}` },
      clock: systemClock,
      signal: new AbortController().signal,
      onProgress: message => progress.push(message),
    })
    await packages.ensure({ kind: 'pypi', package: 'greeter', version: '1.0.0' })
    return progress.length > 0
  }
  useVersion('python3.11')
  assert.deepEqual([await install(), await install()], [true, false])
  useVersion('python3.12')
  assert.deepEqual([await install(), await install()], [true, false])
})
