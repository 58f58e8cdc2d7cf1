/** Keeps a bundle of this clone's sources, and rebuilds it when they change. Plain JavaScript for Node 20. */
import { execFile } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const FOLDERS = ['crds', 'core', 'operator', 'router', 'bridge', 'local', 'cli', 'console', 'scripts']
const FILES = ['package.json', 'package-lock.json']
/** Generated files, which are not sources. */
const GENERATED = /\bkernel\.wasm/
const INDEX = 'current.json'
/** A running gateway may still need an older bundle, because it loads some chunks later. */
const BUNDLES_KEPT = 4
/** A folder or file that is renamed when it is complete. */
const TEMPORARY = /\.[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/
/** No start takes longer to make one. */
const TEMPORARY_KEPT_MS = 24 * 60 * 60_000

/**
 * Returns the folder with the bundle of the sources below `root`, and builds it if needed. Sizes and modification times show whether
 * anything may have changed; then a digest of the contents decides. Safe for concurrent processes: a bundle appears atomically.
 * Throws an error with the bundler's output.
 */
export async function readyBundle(node, root = dirname(dirname(fileURLToPath(import.meta.url)))) {
  const cache = join(root, 'node_modules', '.cache', 'portolan-bundle')
  const sources = sourcesOf(root)
  const seen = digestOf(sources.map(({ path, size, mtimeMs }) => [path, size, mtimeMs]))
  const current = readIndex(cache)
  if (current?.seen === seen && existsSync(join(cache, current.name))) return join(cache, current.name)
  const name = digestOf(sources.map(({ path }) => [path, readFileSync(join(root, path), 'base64')]))
  const folder = join(cache, name)
  if (!existsSync(folder)) await build(node, root, folder)
  utimesSync(folder, new Date(), new Date())
  writeAtomically(join(cache, INDEX), JSON.stringify({ seen, name }))
  removeOld(cache)
  return folder
}

function sourcesOf(root) {
  const paths = FOLDERS.flatMap(folder => filesIn(root, folder))
  return [...FILES, ...paths.filter(path => !path.endsWith('.test.ts') && !GENERATED.test(path))]
    .sort()
    .map(path => ({ path, stats: statSync(join(root, path)) }))
    .filter(({ stats }) => stats.isFile())
    .map(({ path, stats: { size, mtimeMs } }) => ({ path, size, mtimeMs }))
}

/** All files below a folder. Node's own recursive list takes seven times as long. */
function filesIn(root, folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap(entry => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? filesIn(root, path) : [path]
  })
}

function digestOf(value) {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 24)
}

function readIndex(cache) {
  try {
    return JSON.parse(readFileSync(join(cache, INDEX), 'utf8'))
  } catch {
    return undefined
  }
}

async function build(node, root, folder) {
  process.stderr.write('portolan: bundling the sources (once)\n')
  const made = `${folder}.${randomUUID()}`
  const script = join(root, 'scripts', 'bundle.ts')
  try {
    await promisify(execFile)(node, ['--disable-warning=ExperimentalWarning', script, made])
    renameSync(made, folder)
  } catch (error) {
    // If the folder exists, another process has built the same bundle in the meantime.
    if (!existsSync(folder))
      throw new Error(`the sources could not be bundled:\n${error.stderr || error.message}`)
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
}

function writeAtomically(path, text) {
  const made = `${path}.${randomUUID()}`
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(made, text)
  renameSync(made, path)
}

/** Removes all bundles but the newest, and what interrupted starts have left. */
export function removeOld(cache) {
  const all = readdirSync(cache).flatMap(name => ageOf(join(cache, name)))
  const bundles = all.filter(({ path }) => !basename(path).includes('.'))
  const old = bundles.sort((a, b) => b.usedAt - a.usedAt).slice(BUNDLES_KEPT)
  const left = all.filter(
    ({ path, usedAt }) => TEMPORARY.test(path) && Date.now() - usedAt > TEMPORARY_KEPT_MS,
  )
  for (const { path } of [...old, ...left]) rmSync(path, { recursive: true, force: true })
}

/** Nothing if another start has removed it since the folder was listed. */
function ageOf(path) {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats ? [{ path, usedAt: stats.mtimeMs }] : []
}
