/** Installs the package of a server into a volume, and writes its start command there. */
import { constants } from 'node:fs'
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { Fault, messageOf } from '../core/errors.ts'
import { isObject } from '../core/json.ts'
import { installPackage, type PackageSource } from '../core/packages/install.ts'
import { npmCommand } from '../core/packages/npm.ts'

export type Start = { command: string; args: string[] }

export type InstallIntoOptions = {
  source: PackageSource
  /** The registry or index; absent: the installer's own. */
  registry?: string
  /** The folder in which `package/` and `start.json` are created. */
  into: string
  env: Readonly<Record<string, string>>
  signal: AbortSignal
}

const START_FILE = 'start.json'

/** Returns the installed version. Throws the Faults of installPackage. */
export async function install({ source, registry, into, env, signal }: InstallIntoOptions): Promise<string> {
  const folder = resolve(into)
  const cache = await mkdtemp(join(tmpdir(), 'portolan-install-'))
  try {
    const { version, program } = await installPackage(source, join(folder, 'package'), {
      env: { ...env, ...caches(cache) },
      registry,
      signal,
    })
    const start: Start =
      source.kind === 'npm'
        ? await npmCommand(program, await pathOf('node', env.PATH ?? ''))
        : { command: program, args: [] }
    await writeFile(join(folder, START_FILE), JSON.stringify(start))
    return version
  } finally {
    await rm(cache, { recursive: true, force: true })
  }
}

/** Reads the start command of an installed server. Throws Fault `io` if the file is missing or invalid. */
export async function readStart(file: string): Promise<Start> {
  try {
    const start: unknown = JSON.parse(await readFile(file, 'utf8'))
    if (isObject(start) && typeof start.command === 'string' && Array.isArray(start.args))
      return { command: start.command, args: start.args.map(String) }
  } catch (cause) {
    throw new Fault('io', `The file ${file} of the installation cannot be read: ${messageOf(cause)}`, {
      cause,
    })
  }
  throw new Fault('io', `The file ${file} has no start command`)
}

/** Temporary caches, because the downloads are not needed after the installation. */
function caches(folder: string): Record<string, string> {
  return {
    npm_config_cache: join(folder, 'npm'),
    UV_CACHE_DIR: join(folder, 'uv'),
    PIP_CACHE_DIR: join(folder, 'pip'),
  }
}

/** The path of a program, because children do not inherit our PATH. */
async function pathOf(name: string, path: string): Promise<string> {
  for (const folder of path.split(delimiter)) {
    const file = join(folder, name)
    if (
      folder !== '' &&
      (await access(file, constants.X_OK).then(
        () => true,
        () => false,
      ))
    )
      return file
  }
  throw new Fault('io', `${name} was not found on the PATH.`, {
    details: { reason: 'PackageManagerMissing' },
  })
}
