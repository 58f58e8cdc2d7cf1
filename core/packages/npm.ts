/** Installs an npm package into a separate folder and finds its program. */
import { readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Fault } from '../errors.ts'
import { isObject, type JsonObject } from '../json.ts'
import type { Installed, InstallOptions, PackageSource, Release } from './install.ts'
import { run } from './run.ts'

const QUIET = ['--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error']

/**
 * Installs `source` below `folder`. Install scripts run, as with npx, because servers with native modules need them. Native modules
 * are built for the first Node on the PATH.
 */
export async function installNpm(
  source: PackageSource,
  folder: string,
  options: InstallOptions,
): Promise<Installed> {
  await writeFile(join(folder, 'package.json'), '{"private":true}')
  const wanted = `${source.package}@${source.version || 'latest'}`
  const registry = options.registry ? [`--registry=${options.registry}`] : []
  const fixed = ['--prefix', folder, '--omit=dev', '--ignore-scripts=false', ...registry, ...QUIET]
  const npm = (...args: string[]) =>
    run('npm', ['install', ...args, ...fixed], { ...options, cwd: folder }).catch(explain)
  if (options.verify) {
    // Resolves without downloading. The second `npm install` uses the lock file, which contains the verified integrity.
    await npm(wanted, '--save=true', '--package-lock-only', '--package-lock=true')
    await options.verify(await readLocked(source, folder))
    await npm('--package-lock=true')
  } else await npm(wanted)
  const home = join(folder, 'node_modules', ...source.package.split('/'))
  const manifest = await readManifest(home)
  const program = chooseBin(source, binsOf(manifest, source.package))
  return { version: String(manifest.version ?? source.version), program: join(home, program) }
}

/** The release that the lock file selects. */
async function readLocked(source: PackageSource, folder: string): Promise<Release> {
  const lock: unknown = JSON.parse(await readFile(join(folder, 'package-lock.json'), 'utf8'))
  const packages = isObject(lock) && isObject(lock.packages) ? lock.packages : {}
  const locked = packages[`node_modules/${source.package}`]
  const { version, integrity } = isObject(locked) ? locked : {}
  return {
    version: typeof version === 'string' ? version : (source.version ?? ''),
    integrity: typeof integrity === 'string' ? integrity : undefined,
  }
}

/** The command that starts a package's program: JavaScript is run by the Node at the path `node`, anything else runs directly. */
export async function npmCommand(
  program: string,
  node: string,
): Promise<{ command: string; args: string[] }> {
  return (await isScript(program)) ? { command: node, args: [program] } : { command: program, args: [] }
}

/** Rethrows an error of npm, as Fault `io` with reason PackageManagerMissing if there is no npm. */
function explain(error: unknown): never {
  // The cause is set only if npm was not started; EACCES also if a folder of the PATH cannot be read. The message may contain anything.
  const code = error instanceof Fault && (error.cause as NodeJS.ErrnoException | undefined)?.code
  if (code === 'ENOENT' || code === 'EACCES')
    throw new Fault('io', 'npm was not found on the PATH. Install Node.js with npm, then try again.', {
      cause: error,
      details: { reason: 'PackageManagerMissing' },
    })
  throw error
}

async function readManifest(home: string): Promise<JsonObject> {
  const manifest: unknown = JSON.parse(await readFile(join(home, 'package.json'), 'utf8'))
  return isObject(manifest) ? manifest : {}
}

function binsOf(manifest: JsonObject, name: string): Record<string, string> {
  const { bin } = manifest
  if (typeof bin === 'string') return { [basename(name)]: bin }
  if (!isObject(bin)) return {}
  return Object.fromEntries(
    Object.entries(bin).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}

/** The requested program, otherwise the one with the package's name, otherwise the only one (as npx does). */
function chooseBin(source: PackageSource, bins: Record<string, string>): string {
  const names = Object.keys(bins)
  const same = new Set(Object.values(bins)).size === 1 ? names[0] : undefined
  const name = source.bin || (bins[basename(source.package)] ? basename(source.package) : same)
  const program = name === undefined ? undefined : bins[name]
  if (program !== undefined) return program
  const known = names.length === 0 ? 'it has none' : `it has ${names.join(', ')}`
  throw new Fault('io', `Set \`bin\` to the program of ${source.package} to start: ${known}.`, {
    details: { reason: 'BinNotFound' },
  })
}

async function isScript(program: string): Promise<boolean> {
  if (/\.[cm]?js$/.test(program)) return true
  const start = (await readFile(program)).subarray(0, 128).toString('latin1')
  return /^#!.*\bnode\b/.test(start)
}
