/** Builds core/encoder/kernel.wasm from its AssemblyScript sources if they have changed. Plain JavaScript for Node 20. */
import { execFile } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const compiler = join(root, 'node_modules', 'assemblyscript')
/** Without a garbage collector and checks: the kernels allocate nothing, and work in a memory that they import. */
const OPTIONS = [
  '--runtime',
  'stub',
  '--enable',
  'simd',
  '-O3',
  '--noAssert',
  '--importMemory',
  '--use',
  'abort=',
]

/**
 * Compiles the files in `folder`/kernel/ to `kernel.wasm`; true if it was outdated. Safe for concurrent processes: files appear
 * atomically. Throws an error with the compiler's output.
 */
export async function buildKernel(node, folder = join(root, 'core', 'encoder')) {
  const sources = readdirSync(join(folder, 'kernel'))
    .filter(name => name.endsWith('.ts'))
    .sort()
    .map(name => join(folder, 'kernel', name))
  const wasm = join(folder, 'kernel.wasm')
  const stamp = join(folder, 'kernel.wasm.sources')
  const wanted = digestOf(sources)
  if (existsSync(wasm) && existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return false
  await compile(node, sources, wasm)
  replace(stamp, path => writeFileSync(path, wanted))
  return true
}

function digestOf(sources) {
  const { version } = JSON.parse(readFileSync(join(compiler, 'package.json'), 'utf8'))
  const hash = createHash('sha256').update(JSON.stringify([version, OPTIONS]))
  for (const path of sources) hash.update(JSON.stringify(readFileSync(path, 'utf8')))
  return hash.digest('hex')
}

async function compile(node, sources, wasm) {
  const made = `${wasm}.${randomUUID()}`
  const asc = join(compiler, 'bin', 'asc.js')
  process.stderr.write('portolan: compiling the kernels of the sentence encoder (once)\n')
  try {
    await promisify(execFile)(node, [asc, ...sources, '--outFile', made, ...OPTIONS])
    renameSync(made, wasm)
  } catch (error) {
    throw new Error(`core/encoder/kernel could not be compiled:\n${error.stderr || error.message}`)
  } finally {
    rmSync(made, { force: true })
  }
}

function replace(path, write) {
  const made = `${path}.${randomUUID()}`
  write(made)
  renameSync(made, path)
}
