/** Keeps a bundle of this clone's sources, built again whenever they change. Plain JavaScript for Node 20. */
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
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const FOLDERS = ['crds', 'core', 'operator', 'router', 'bridge', 'local', 'cli', 'scripts']
const FILES = ['package.json', 'package-lock.json']
/** Made of its sources while they are bundled. */
const MADE = /\bkernel\.wasm/
const INDEX = 'current.json'
/** Older ones may still be run by a gateway, which loads parts of itself when they are needed. */
const BUNDLES_KEPT = 4

/**
 * Path of the folder with the bundle of the sources below `root`. Sizes and times of change tell whether anything may have
 * changed, a digest of the contents whether it has. Any number of processes may do this: a bundle appears at once and whole.
 * Throws with what the bundler said.
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
  writeWhole(join(cache, INDEX), JSON.stringify({ seen, name }))
  removeOld(cache)
  return folder
}

function sourcesOf(root) {
  const paths = FOLDERS.flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true }).map(path => join(folder, path)),
  )
  return [...FILES, ...paths.filter(path => !path.endsWith('.test.ts') && !MADE.test(path))]
    .sort()
    .map(path => ({ path, stats: statSync(join(root, path)) }))
    .filter(({ stats }) => stats.isFile())
    .map(({ path, stats: { size, mtimeMs } }) => ({ path, size, mtimeMs }))
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
    // another process was faster
    if (!existsSync(folder))
      throw new Error(`the sources could not be bundled:\n${error.stderr || error.message}`)
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
}

function writeWhole(path, text) {
  const made = `${path}.${randomUUID()}`
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(made, text)
  renameSync(made, path)
}

function removeOld(cache) {
  const bundles = readdirSync(cache)
    .filter(name => !name.includes('.'))
    .map(name => ({ path: join(cache, name), usedAt: statSync(join(cache, name)).mtimeMs }))
  for (const { path } of bundles.sort((a, b) => b.usedAt - a.usedAt).slice(BUNDLES_KEPT))
    rmSync(path, { recursive: true, force: true })
}
