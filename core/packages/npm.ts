/** Installs npm packages into a folder of their own and finds the program that a package brings. */
import { readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Fault } from '../errors.ts'
import { isObject, type JsonObject } from '../json.ts'
import type { Installed, InstallOptions, PackageSource } from './install.ts'
import { run } from './run.ts'

const QUIET = ['--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error']

/**
 * Installs `source` under `folder`. Install scripts run, as they do with npx: servers with native parts need them, built
 * for the Node that is found first on the PATH.
 */
export async function installNpm(
  source: PackageSource,
  folder: string,
  options: InstallOptions,
): Promise<Installed> {
  await writeFile(join(folder, 'package.json'), '{"private":true}')
  const wanted = `${source.package}@${source.version || 'latest'}`
  const registry = options.registry ? [`--registry=${options.registry}`] : []
  const args = ['install', wanted, '--prefix', folder, '--omit=dev', '--ignore-scripts=false', ...registry]
  await run('npm', [...args, ...QUIET], { ...options, cwd: folder }).catch(explain)
  const home = join(folder, 'node_modules', ...source.package.split('/'))
  const manifest = await readManifest(home)
  const program = chooseBin(source, binsOf(manifest, source.package))
  return { version: String(manifest.version ?? source.version), program: join(home, program) }
}

/** The program of a package as a command: JavaScript runs on the Node at the path `node`, anything else as it is. */
export async function npmCommand(
  program: string,
  node: string,
): Promise<{ command: string; args: string[] }> {
  return (await isScript(program)) ? { command: node, args: [program] } : { command: program, args: [] }
}

function explain(error: unknown): never {
  if (error instanceof Fault && /could not be started/.test(error.message))
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

/** The program asked for, else the one named like the package, else the only one (npx's rule). */
function chooseBin(source: PackageSource, bins: Record<string, string>): string {
  const names = Object.keys(bins)
  const same = new Set(Object.values(bins)).size === 1 ? names[0] : undefined
  const name = source.bin || (bins[basename(source.package)] ? basename(source.package) : same)
  const program = name === undefined ? undefined : bins[name]
  if (program !== undefined) return program
  const known = names.length === 0 ? 'it has none' : `it has ${names.join(', ')}`
  throw new Fault('io', `Which program of ${source.package} is meant? Set \`bin\`: ${known}.`, {
    details: { reason: 'BinNotFound' },
  })
}

async function isScript(program: string): Promise<boolean> {
  if (/\.[cm]?js$/.test(program)) return true
  const start = (await readFile(program)).subarray(0, 128).toString('latin1')
  return /^#!.*\bnode\b/.test(start)
}
