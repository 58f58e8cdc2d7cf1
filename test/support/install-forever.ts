/**
 * A process that installs a package with the `npm` in the given folder, for tests that kill it during the installation. Writes a line once the
 * reaper has the installer.
 */
import { systemClock } from '../../core/async.ts'
import { startReaper } from '../../core/mcp/client/stdio/reaper.ts'
import { createPackages } from '../../local/packages/packages.ts'

const folder = process.argv[2] ?? ''
const reaper = startReaper()
const packages = createPackages({
  folder,
  env: { PATH: `${folder}:${process.env.PATH}` },
  clock: systemClock,
  reaper: {
    ...reaper,
    async watch(group) {
      await reaper.watch(group)
      process.stdout.write('watched\n')
    },
  },
  signal: new AbortController().signal,
  onProgress: () => {},
})
await packages.ensure({ kind: 'npm', package: 'semver', version: '7.7.2' })
