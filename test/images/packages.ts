/** Fetches the packages of test servers and their dependencies once, with npm and pip. */
import { createHash } from 'node:crypto'
import {
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createGunzip } from 'node:zlib'
import { extract } from 'tar-stream'
import { parseAllDocuments } from 'yaml'
import { run } from '../cluster/command.ts'
import { findPython } from './runtimes.ts'

const EXAMPLES = join(import.meta.dirname, '..', '..', 'examples')
/** Older versions of packages in the examples, for tests that change a server's version. */
const OLDER: Packages = {
  npm: ['@modelcontextprotocol/server-everything@2026.8.18'],
  pypi: [],
}

/** In the notation of npm and pip: `name@1.0.0`, `name==1.0.0`. */
type Packages = { npm: string[]; pypi: string[] }

/** The metadata of packages by name, then version; `tarball` is a file name. */
export type NpmIndex = Record<string, Record<string, { dist: { tarball: string; integrity: string } }>>

/** Fetches the packages if they are missing; resolves with a folder that contains `npm.json`, `npm/*.tgz` and `pypi/*.whl`. */
export async function readyPackages(cache: string, say: (line: string) => void): Promise<string> {
  const folder = packageFolder(cache)
  if (existsSync(folder)) return folder
  const packages = wantedPackages()
  mkdirSync(cache, { recursive: true })
  const unfinished = mkdtempSync(join(cache, '.unfinished-'))
  try {
    say(`fetching ${[...packages.npm, ...packages.pypi].join(', ')} (once)`)
    await fetchNpm(packages.npm, unfinished)
    await fetchPypi(packages.pypi, unfinished, findPython().executable)
    if (!existsSync(folder)) renameSync(unfinished, folder)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
  return folder
}

/** The folder for the currently wanted packages, whether it exists or not. */
export function packageFolder(cache: string): string {
  const wanted = [wantedPackages(), process.platform, process.arch, findPython().library]
  return join(cache, createHash('sha256').update(JSON.stringify(wanted)).digest('hex').slice(0, 16))
}

/** The packages of the examples, and older versions. */
function wantedPackages(): Packages {
  const files = readdirSync(EXAMPLES, { recursive: true, encoding: 'utf8' }).filter(name =>
    name.endsWith('.yaml'),
  )
  const specs = files
    .flatMap(file => parseAllDocuments(readFileSync(join(EXAMPLES, file), 'utf8')))
    .map(document => document.toJS()?.spec ?? {})
  const npm = specs.flatMap(({ npm }) => (npm ? [`${npm.package}@${npm.version || 'latest'}`] : []))
  const pypi = specs.flatMap(({ pypi }) =>
    pypi ? [`${pypi.package}${pypi.version ? `==${pypi.version}` : ''}`] : [],
  )
  return { npm: unique([...npm, ...OLDER.npm]), pypi: unique([...pypi, ...OLDER.pypi]) }
}

function unique(names: string[]): string[] {
  return [...new Set(names)].sort()
}

/** Lets npm resolve the dependencies into a lockfile without installing them, then packs each package. */
async function fetchNpm(wanted: readonly string[], folder: string): Promise<void> {
  const home = join(folder, 'npm')
  mkdirSync(home)
  const dependencies = Object.fromEntries(wanted.map((name, at) => [`wanted-${at}`, `npm:${name}`]))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ dependencies }))
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline']
  await run(['npm', 'install', '--package-lock-only', '--ignore-scripts', ...quiet], { cwd: folder })
  const names = unique(lockedPackages(join(folder, 'package-lock.json')))
  const packed = await run(
    ['npm', 'pack', '--json', '--ignore-scripts', `--pack-destination=${home}`, ...quiet, ...names],
    { cwd: folder },
  )
  const index: NpmIndex = {}
  for (const { filename, integrity } of JSON.parse(packed) as { filename: string; integrity: string }[]) {
    const manifest = await manifestOf(join(home, filename))
    const entry = { ...manifest, dist: { tarball: filename, integrity } }
    index[manifest.name] = { ...index[manifest.name], [manifest.version]: entry }
  }
  writeFileSync(join(folder, 'npm.json'), JSON.stringify(index))
}

function lockedPackages(lockfile: string): string[] {
  const { packages } = JSON.parse(readFileSync(lockfile, 'utf8')) as {
    packages: Record<string, { name?: string; version?: string }>
  }
  return Object.entries(packages)
    .filter(([path]) => path !== '')
    .map(
      ([path, { name, version }]) =>
        `${name ?? path.slice(path.lastIndexOf('node_modules/') + 13)}@${version}`,
    )
}

async function manifestOf(tarball: string): Promise<{ name: string; version: string }> {
  const entries = createReadStream(tarball).pipe(createGunzip()).pipe(extract())
  for await (const entry of entries) {
    if (/^[^/]+\/package\.json$/.test(entry.header.name)) return JSON.parse(await text(entry))
    entry.resume()
  }
  throw new Error(`${tarball} has no package.json`)
}

/** Each package is resolved separately, so that their dependencies need not be compatible. */
async function fetchPypi(wanted: readonly string[], folder: string, python: string): Promise<void> {
  const pip = [
    python,
    '-m',
    'pip',
    'download',
    '--quiet',
    '--disable-pip-version-check',
    '--only-binary=:all:',
  ]
  for (const name of wanted) await run([...pip, `--dest=${join(folder, 'pypi')}`, name])
}
