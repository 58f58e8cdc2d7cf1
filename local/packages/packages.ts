/** Installs npm and PyPI packages once into the cache, from which they can also be started offline. */
import { createHash } from 'node:crypto'
import { access, readFile, rename, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import type { Clock } from '../../core/async.ts'
import { isObject } from '../../core/json.ts'
import type { Reaper } from '../../core/mcp/client/stdio/reaper.ts'
import {
  type Installed,
  installPackage,
  type PackageSource,
  type Release,
} from '../../core/packages/install.ts'
import { npmCommand } from '../../core/packages/npm.ts'
import { checkPython } from '../../core/packages/pypi.ts'
import { installerEnvironment } from '../environment.ts'
import { createSlots } from '../start-slots.ts'
import { withLock } from './folder-lock.ts'
import { createIntegrityRecords } from './integrity.ts'

const PARALLEL_INSTALLS = 3
/** A longer installation continues, but no longer blocks others. */
const INSTALL_MAX_HOLD_MS = 60_000
/** The file in a package's folder that says what is installed. */
const MARKER = 'portolan.json'

export type PackageCommand = { command: string; args: string[]; version: string }

export type Packages = {
  /**
   * The command that starts `source` from the cache; installs it first if needed. Concurrent callers share one
   * installation, as do several gateways with the same cache. Throws Fault `io` (details.reason InstallFailed,
   * IntegrityChanged, PackageManagerMissing or BinNotFound) or `cancelled`.
   */
  ensure(source: PackageSource): Promise<PackageCommand>
  /** How many packages are being installed or wait for installation. */
  installing(): number
}

export type PackagesOptions = {
  /** The cache's folder. */
  folder: string
  /** The environment variables of the user. npm, uv and python get a part of them. */
  env: Readonly<Record<string, string>>
  clock: Clock
  /** Kills installers if this process is killed. */
  reaper?: Reaper
  /** Aborts running installations. */
  signal: AbortSignal
  /** Called with a sentence for the user about an installation. */
  onProgress: (message: string) => void
}

export function createPackages(options: PackagesOptions): Packages {
  const running = new Map<string, Promise<Installed>>()
  /** Folders whose installation was announced: failed installations are retried, but announced only once. */
  const announced = new Set<string>()
  const slots = createSlots({
    count: PARALLEL_INSTALLS,
    maxHoldMs: INSTALL_MAX_HOLD_MS,
    clock: options.clock,
  })
  const begin = (folder: string, source: PackageSource) => {
    const announce = announced.has(folder) ? () => {} : options.onProgress
    announced.add(folder)
    const work = slots
      .run(() => install(source, folder, options, announce))
      .finally(() => running.delete(folder))
    running.set(folder, work)
    return work
  }
  return {
    installing: () => running.size,
    async ensure(source) {
      const folder = folderOf(options.folder, source)
      const installed =
        (await readMarker(folder, source)) ?? (await (running.get(folder) ?? begin(folder, source)))
      const { version, program } = installed
      return {
        ...(source.kind === 'npm'
          ? await npmCommand(program, process.execPath)
          : { command: program, args: [] }),
        version,
      }
    },
  }
}

/** One folder per package, version and program, separate for each platform and Node ABI. */
function folderOf(cache: string, source: PackageSource): string {
  const platform = `${process.platform}-${process.arch}`
  const platformFolder =
    source.kind === 'npm' ? `npm-${platform}-${process.versions.modules}` : `pypi-${platform}`
  const readable = `${source.package.replaceAll('/', '+')}@${source.version || 'latest'}`.replace(
    /[^\w.@+-]/g,
    '_',
  )
  const exact = JSON.stringify([source.package, source.version ?? '', source.bin ?? ''])
  return join(
    cache,
    'packages',
    platformFolder,
    `${readable}-${createHash('sha256').update(exact).digest('hex').slice(0, 8)}`,
  )
}

/**
 * What is installed in a folder. Undefined without a marker: it is written last, so the installation was interrupted and is repeated; also if
 * the Python that a virtual environment links to is gone or has another version, for example after an upgrade.
 */
async function readMarker(folder: string, { kind }: PackageSource): Promise<Installed | undefined> {
  try {
    const marker: unknown = JSON.parse(await readFile(join(folder, MARKER), 'utf8'))
    if (!isObject(marker) || typeof marker.version !== 'string' || typeof marker.program !== 'string')
      return undefined
    const program = join(folder, marker.program)
    await access(program)
    if (kind === 'pypi') await checkPython(dirname(program))
    return { version: marker.version, program }
  } catch {
    return undefined
  }
}

async function install(
  source: PackageSource,
  folder: string,
  options: PackagesOptions,
  announce: (message: string) => void,
): Promise<Installed> {
  const name = `${source.package}${source.version ? `@${source.version}` : ''}`
  const onWait = () => announce(`waiting for another portolan process that installs ${name}`)
  return withLock(
    `${folder}.lock`,
    async () => {
      // Another process may have installed it while this one waited for the lock.
      const existing = await readMarker(folder, source)
      if (existing) return existing
      const started = options.clock.elapsed()
      announce(`installing ${name} from ${source.kind === 'npm' ? 'npm' : 'PyPI'} (once)`)
      const installed = await installInto(source, folder, options)
      const seconds = Math.round((options.clock.elapsed() - started) / 1000)
      const pinned = source.version
        ? ''
        : `; this is the latest version and is kept from now on: pin it as version "${installed.version}"`
      options.onProgress(`installed ${source.package} ${installed.version} in ${seconds} s${pinned}`)
      return installed
    },
    { clock: options.clock, signal: options.signal, onWait },
  )
}

async function installInto(
  source: PackageSource,
  folder: string,
  options: PackagesOptions,
): Promise<Installed> {
  const inherited = installerEnvironment(options.env)
  const env = source.kind === 'npm' ? withOurNode(inherited) : inherited
  const compare = createIntegrityRecords(options.folder)
  const verify = (release: Release) => compare(source, release)
  const installed = await installPackage(source, folder, { ...options, env, verify })
  const marker = { version: installed.version, program: installed.program.slice(folder.length + 1) }
  await writeFile(join(folder, `${MARKER}.new`), JSON.stringify(marker))
  await rename(join(folder, `${MARKER}.new`), join(folder, MARKER))
  return installed
}

/** Puts this process's Node first on the PATH: npm builds native addons for the Node that it runs on, and this one loads them. */
function withOurNode(env: Readonly<Record<string, string>>): Record<string, string> {
  return { ...env, PATH: [dirname(process.execPath), env.PATH ?? ''].join(delimiter) }
}
