/** Installs and builds what a fresh clone lacks: packages, Node 24, the WebAssembly kernels. Plain JavaScript for Node 20. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MALLOC, NODE_OPTIONS } from '../cli/node-options.mjs'
import { readyBundle } from './bundled.mjs'
import { buildKernel } from './kernel.mjs'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
const modules = join(root, 'node_modules')
const stamp = join(modules, '.portolan-lock')
const ORPHAN_CHECK_MS = 500

/** Returns the path of a Node 24 executable. Before, installs packages and builds kernels if they are missing or outdated. */
export async function readyNode() {
  const node = await installedNode()
  await buildKernel(node).catch(error => {
    process.stderr.write(`portolan: ${error.message}\n`)
    process.exit(1)
  })
  return node
}

async function installedNode() {
  const wanted = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
  const node = join(modules, 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted && existsSync(node)) return node
  if (!hasEverything(node)) await install()
  writeFileSync(stamp, wanted)
  return node
}

/** True if the user has already run `npm ci` or `npm install` with the current lockfile. */
function hasEverything(node) {
  const installed = join(modules, '.package-lock.json')
  if (!existsSync(node) || !existsSync(installed)) return false
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
  const have = JSON.parse(readFileSync(installed, 'utf8')).packages
  return Object.entries(lock).every(
    ([path, entry]) => path === '' || entry.optional === true || have[path]?.version === entry.version,
  )
}

async function install() {
  const started = Date.now()
  const say = text => process.stderr.write(text)
  say('portolan: installing packages and Node 24 (once) ')
  const dots = setInterval(() => say('.'), 1000)
  const output = []
  // npm ci would delete the folder, too, but it fails if an interrupted installation left the folder incomplete.
  rmSync(modules, { recursive: true, force: true })
  const args = [
    'ci',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    '--ignore-scripts=false',
    '--include=dev',
  ]
  const options = { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] }
  // On Windows npm is a batch file, which Node starts only through a shell.
  const npm =
    process.platform === 'win32'
      ? spawn(['npm.cmd', ...args].join(' '), { ...options, shell: true })
      : spawn('npm', args, { ...options, detached: true })
  const stop = signal => {
    say('\nportolan: stopped while installing; the next start installs again\n')
    process.kill(process.platform === 'win32' ? npm.pid : -npm.pid, 'SIGKILL')
    process.exit(signal === 'SIGINT' ? 130 : 143)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, stop)
  npm.stdout.on('data', chunk => output.push(chunk))
  npm.stderr.on('data', chunk => output.push(chunk))
  const code = await new Promise((resolve, reject) => npm.on('error', reject).on('close', resolve))
  clearInterval(dots)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(signal, stop)
  if (code !== 0) {
    say(
      `\n${Buffer.concat(output)}\nportolan: npm ci failed with code ${code}. Check the network and the npm registry setting, then run the command again.\n`,
    )
    process.exit(1)
  }
  say(` done in ${Math.round((Date.now() - started) / 1000)} s\n`)
}

/**
 * Adds Node's compile cache to the environment: without it, every start compiles again, and tests also strip types again. It is an
 * environment variable because a script cannot enable the cache before Node has loaded the script itself.
 */
export function withCompileCache(env) {
  return { NODE_COMPILE_CACHE: join(modules, '.cache', 'portolan-compiled'), ...env }
}

/** Runs the command line of Portolan; resolves with its exit code. */
export async function runPortolan(node, args) {
  const command = await portolanCommand(node, args)
  return runInPlace(node, command, { ...MALLOC, ...withCompileCache(process.env) })
}

/** The arguments of `node` for a command of Portolan. Builds the bundle first if it is outdated. */
export async function portolanCommand(node, args) {
  const bundle = await readyBundle(node).catch(error => {
    process.stderr.write(`portolan: ${error.message}\n`)
    process.exit(1)
  })
  return [...NODE_OPTIONS, join(bundle, 'portolan.js'), ...args]
}

/** Replaces this process by the command (execve) if the system and this Node can do that; otherwise runs it as a child. */
async function runInPlace(node, args, env) {
  if (process.platform !== 'win32' && process.execve) return process.execve(node, [node, ...args], env)
  return runAsChild(node, args, { env, byNpm: env.npm_command !== undefined })
}

/**
 * Runs a child with the streams of this process (except perhaps standard output), forwards signals to it, and resolves with its exit
 * code. The IPC channel closes when this process ends, even by kill -9, so that the child ends, too. `byNpm`: a signal to npm ends only
 * the shell between npm and this process, so the child is also ended when the parent process changes.
 */
export async function runAsChild(node, args, { env, byNpm, stdout = 'inherit' }) {
  const child = spawn(node, args, { stdio: ['inherit', stdout, 'inherit', 'ipc'], env })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  if (byNpm) whenOrphaned(() => child.kill('SIGTERM'))
  const { code, signal } = await new Promise((resolve, reject) =>
    child.on('error', reject).on('exit', (code, signal) => resolve({ code, signal })),
  )
  if (signal) {
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  }
  return code ?? 1
}

/** Calls `onOrphaned` once when the parent process has ended. */
function whenOrphaned(onOrphaned) {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    onOrphaned()
  }, ORPHAN_CHECK_MS)
  timer.unref()
}
