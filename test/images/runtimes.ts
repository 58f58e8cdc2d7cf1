/** Substitutes for the images in which npm and PyPI servers run, made from this machine's Node, npm and Python. */
import { execFileSync } from 'node:child_process'
import { readdirSync, realpathSync } from 'node:fs'
import { basename, delimiter, dirname, join } from 'node:path'
import { sharedLibraries } from '../../scripts/shared-libraries.ts'
import type { Image, Layer } from '../cluster/image.ts'
import { programLayer } from '../cluster/node-image.ts'

export const NODE = '/usr/local/bin/node'
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
/** Programs that shell scripts of packages may use. */
const TOOLS = ['env', 'cat', 'ls', 'mkdir', 'rm', 'cp', 'mv', 'ln', 'chmod', 'uname', 'dirname', 'basename']
const PYTHONS = ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11', 'python3.10']
/** Parts of Python's library that are large, or specific to this machine. */
const EXCLUDED_FROM_PYTHON =
  /^(?:__pycache__|test|tests|idlelib|tkinter|turtledemo|site-packages|dist-packages|config-.*)$/

/** Like the original images, these have no user 65532. */
const SYSTEM: Layer = {
  '/etc/passwd': { content: 'root:x:0:0:root:/root:/bin/sh\n' },
  '/etc/group': { content: 'root:x:0:\n' },
  '/tmp': { folder: true, mode: 0o1777 },
}

export async function nodeImage(): Promise<Image> {
  return {
    reference: 'portolan-test/node:24',
    layers: [nodeLayer(), { ...SYSTEM, ...shell(), ...npmLayer() }],
    entrypoint: [NODE],
    env: { PATH },
  }
}

export async function pythonImage(): Promise<Image> {
  const { executable, library } = findPython()
  const version = library.slice(library.lastIndexOf('python'))
  const loaded = join(library, 'lib-dynload')
  const modules = readdirSync(loaded)
    .filter(name => name.endsWith('.so') && !/tkinter|_test/.test(name))
    .map(name => join(loaded, name))
  const python: Layer = {
    ...programLayer({ [`/usr/local/bin/${version}`]: executable }, modules),
    ...manylinuxLibraries(),
    [`/usr/local/lib/${version}`]: { from: library, except: EXCLUDED_FROM_PYTHON },
    '/usr/local/bin/python3': { link: version },
    '/usr/local/bin/python': { link: version },
  }
  return {
    reference: 'portolan-test/python:3',
    layers: [{ ...SYSTEM, ...shell() }, python],
    entrypoint: ['/usr/local/bin/python3'],
    env: { PATH },
  }
}

/** Libraries on which binary wheels depend (PEP 600): all of glibc, and the C++ runtime that Node is linked with. */
function manylinuxLibraries(): Layer {
  const { libraries } = sharedLibraries(process.execPath)
  const home = dirname(libraries.find(path => basename(path) === 'libc.so.6') ?? '/lib')
  const glibc = readdirSync(home).filter(name => /^lib(?:rt|util|resolv|nsl|anl|nss_\w+)\.so\.\d$/.test(name))
  const paths = [...libraries, ...glibc.map(name => join(home, name))]
  return Object.fromEntries(paths.map(path => [path, { from: realpathSync(path) }]))
}

/** The same layer in every image with Node, so that a cluster node unpacks it only once. */
export function nodeLayer(): Layer {
  return programLayer({ [NODE]: process.execPath })
}

/** The npm of this machine. */
function npmLayer(): Layer {
  const npm = dirname(dirname(realpathSync(find('npm'))))
  return {
    '/usr/local/lib/node_modules/npm': { from: npm, except: /^(?:docs|man)$/ },
    '/usr/local/bin/npm': { link: '../lib/node_modules/npm/bin/npm-cli.js' },
    '/usr/local/bin/npx': { link: '../lib/node_modules/npm/bin/npx-cli.js' },
  }
}

function shell(): Layer {
  const tools = Object.fromEntries(TOOLS.map(name => [`/usr/bin/${name}`, find(name)]))
  return programLayer({ '/bin/sh': find('sh'), ...tools })
}

/** Finds a Python with venv and ensurepip, which Debian has in a separate package. */
export function findPython(): { executable: string; library: string } {
  const ask =
    'import ensurepip, json, os, ssl, sys, venv; print(json.dumps({"executable": os.path.realpath(sys.executable), "library": os.path.dirname(os.__file__)}))'
  for (const python of PYTHONS) {
    try {
      return JSON.parse(
        execFileSync(python, ['-c', ask], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
      )
    } catch {
      // Try the next one.
    }
  }
  throw new Error(
    `the test images need a Python 3.10 or newer with venv (on Debian: python3-venv), none of ${PYTHONS.join(', ')}`,
  )
}

function find(program: string): string {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    try {
      return realpathSync(join(folder, program))
    } catch {
      // Try the next one.
    }
  }
  throw new Error(`the test images need ${program}, which is not on the PATH`)
}
