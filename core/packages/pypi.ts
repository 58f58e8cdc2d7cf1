/** Installs a PyPI package into a separate virtual environment: with uv if it is installed, otherwise with Python's venv and pip. */
import { readdir, realpath } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Fault } from '../errors.ts'
import type { Installed, InstallOptions, PackageSource } from './install.ts'
import { readEntryPoints, scriptsOf, takeDigest } from './pypi-digest.ts'
import { type RunOptions, run } from './run.ts'

const OLDEST_PYTHON = [3, 10] as const
const PYTHONS = ['python3', 'python', 'python3.14', 'python3.13', 'python3.12', 'python3.11', 'python3.10']

/** Installs `source` below `folder` and returns its console script. */
export async function installPypi(
  source: PackageSource,
  folder: string,
  options: InstallOptions,
): Promise<Installed> {
  const wanted = source.version ? `${source.package}==${source.version}` : source.package
  const venv = join(folder, 'venv')
  const python = join(venv, 'bin', 'python')
  const inFolder = { ...options, cwd: folder }
  if (await succeeds('uv', ['--version'], options)) {
    await run('uv', ['venv', '--quiet', '--no-project', '--python', '>=3.10', venv], inFolder)
    const index = options.registry ? ['--index-url', options.registry] : []
    await run('uv', ['pip', 'install', '--python', python, ...index, wanted], inFolder)
  } else {
    await run(await findPython(options), ['-m', 'venv', venv], inFolder).catch(explainVenv)
    const pip = ['-m', 'pip', 'install', '--quiet', '--no-input', '--disable-pip-version-check']
    await run(python, [...pip, ...pipIndex(options.registry), wanted], inFolder)
  }
  const { packages, info, ...installed } = await readInstalled(source, venv)
  const { version } = installed
  const variant = basename(dirname(packages))
  const { integrity, cleared } = await takeDigest({ venv, packages, info })
  await options.verify?.({ version, variant, integrity })
  await compile(python, cleared, inFolder)
  return installed
}

/**
 * Throws if the Python that a virtual environment links to is gone, or has another version since an upgrade: it would not find the
 * environment's packages. `bin`: the folder with its programs. If the name of the Python tells no version, it is not compared.
 */
export async function checkPython(bin: string): Promise<void> {
  const python = await realpath(join(bin, 'python'))
  const version = /^python\d+\.\d+/.exec(basename(python))?.[0]
  if (version === undefined) return
  const found = await readdir(join(dirname(bin), 'lib'))
  // The free-threaded 3.13 may be named python3.13, and its folder python3.13t.
  if (!found.some(name => name === version || name === `${version}t`))
    throw new Fault('io', `The packages of ${bin} are not for ${python}.`)
}

/**
 * Compiles the modules in these folders: pods mount them read-only, so that Python would compile them at each start. `-S`: without it, a
 * `.pth` file of the package would run code. Failures are ignored: some packages contain files that are not for this Python.
 */
async function compile(python: string, folders: readonly string[], options: RunOptions): Promise<void> {
  // Without a folder it would compile all that Python can import.
  if (folders.length === 0) return
  await run(python, ['-S', '-m', 'compileall', '-q', '-l', ...folders], options).catch(error => {
    if (options.signal.aborted) throw error
  })
}

/** The options of pip for an index. pip uses an index without TLS only with `--trusted-host`. */
function pipIndex(registry: string | undefined): string[] {
  if (!registry) return []
  const { protocol, hostname } = new URL(registry)
  return ['--index-url', registry, ...(protocol === 'http:' ? ['--trusted-host', hostname] : [])]
}

async function succeeds(command: string, args: string[], options: RunOptions): Promise<boolean> {
  return run(command, args, options).then(
    () => true,
    () => false,
  )
}

/** The first Python on the PATH that is new enough and has venv and pip. */
async function findPython(options: RunOptions): Promise<string> {
  const [major, minor] = OLDEST_PYTHON
  const check = `import sys, venv, ensurepip; sys.exit(sys.version_info < (${major}, ${minor}))`
  for (const python of PYTHONS) if (await succeeds(python, ['-c', check], options)) return python
  if (options.signal.aborted) throw new Fault('cancelled', 'The installation was cancelled.')
  throw packageManagerMissing(
    `Neither uv nor Python ${major}.${minor} or newer with venv was found on the PATH.`,
  )
}

function explainVenv(error: unknown): never {
  if (error instanceof Fault && error.code === 'cancelled') throw error
  throw packageManagerMissing(`uv was not found, and Python could not create a virtual environment.`, error)
}

function packageManagerMissing(sentence: string, cause?: unknown): Fault {
  return new Fault('io', `${sentence} Install uv, then try again. The other servers work without it.`, {
    cause,
    details: { reason: 'PackageManagerMissing' },
  })
}

/** Reads version and console scripts from the package's own metadata in site-packages. */
async function readInstalled(
  source: PackageSource,
  venv: string,
): Promise<Installed & { packages: string; info: string }> {
  const lib = join(venv, 'lib')
  const python = await onlyEntry(lib, name => /^python\d/.test(name))
  const packages = join(lib, python, 'site-packages')
  const info = await onlyEntry(packages, name => isInfoOf(name, source.package))
  const scripts = scriptsOf(await readEntryPoints(packages, info), 'console')
  const version = info.slice(0, -'.dist-info'.length).split('-').at(-1) ?? ''
  const program = join(venv, 'bin', chooseScript(source, scripts))
  return { version, program, packages, info }
}

/** The only name that matches. A wheel can add others, and its own files would not be compared if one of these was chosen. */
async function onlyEntry(folder: string, matches: (name: string) => boolean): Promise<string> {
  const [name, ...others] = (await readdir(folder)).filter(matches)
  if (name === undefined) throw new Fault('io', 'Its metadata was not found.')
  if (others.length === 0) return name
  const names = [name, ...others].sort().join(', ')
  throw new Fault('io', `There is more than one folder for its metadata: ${names}.`)
}

function isInfoOf(folder: string, name: string): boolean {
  const match = /^(.+)-[^-]+\.dist-info$/.exec(folder)
  return match?.[1] !== undefined && normalized(match[1]) === normalized(name)
}

/** The normalized name (PEP 503), without extras such as `[cli]`. */
function normalized(name: string): string {
  return name
    .replace(/\[.*$/, '')
    .replace(/[-_.]+/g, '-')
    .toLowerCase()
}

/** The requested script, otherwise the only one, otherwise the one with the package's name. */
function chooseScript(source: PackageSource, scripts: string[]): string {
  const script =
    source.bin ||
    (scripts.length === 1
      ? scripts[0]
      : scripts.find(name => normalized(name) === normalized(source.package)))
  if (script !== undefined && scripts.includes(script)) return script
  const known = scripts.length === 0 ? 'it has none' : `it has ${scripts.join(', ')}`
  throw new Fault('io', `Set \`bin\` to the program of ${source.package} to start: ${known}.`, {
    details: { reason: 'BinNotFound' },
  })
}
