/** A process that installs a package with the `npm` in the given folder, for tests that kill it during the installation. */
import { systemClock } from '../../core/async.ts'
import { startReaper } from '../../core/mcp/client/stdio/reaper.ts'
import { createPackages } from '../../local/packages/packages.ts'

const folder = process.argv[2] ?? ''
const packages = createPackages({
  folder,
  env: { PATH: `${folder}:${process.env.PATH}` },
  clock: systemClock,
  reaper: startReaper(),
  signal: new AbortController().signal,
  onProgress: () => {},
})
await packages.ensure({ kind: 'npm', package: 'semver', version: '7.7.2' })
