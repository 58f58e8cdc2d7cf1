/** The project's own tasks: start, check, test, e2e, bench, conformance, build and more. Plain JavaScript for Node 20; the work runs on Node 24. */
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { delimiter, dirname, join, relative } from 'node:path'
import { compiled, readyNode, root, runPortolan } from './bootstrap.mjs'
import { readyModel } from './model.mjs'

const QUIET = '--disable-warning=ExperimentalWarning'
const FAST_LIMIT_MS = 300_000
/** Of a whole file with a cluster in it; its tests have limits of their own. */
const SLOW_LIMIT_MS = 1_800_000
/** Fast tests stand beside the code or are pure; those named *.slow.test.ts run in `test` alone. */
const FAST = [
  ...['crds', 'core', 'operator', 'router', 'bridge', 'local', 'cli'],
  ...['test/contract', 'test/golden', 'test/architecture.test.ts'],
]

const [task, ...rest] = process.argv.slice(2)
const node = await readyNode()
const env = { ...compiled(process.env), PATH: `${dirname(node)}${delimiter}${process.env.PATH}` }

const tasks = {
  start: async () => {
    await readyModel(node, process.env)
    process.exitCode = await runPortolan(node, ['up', 'examples/laptop', ...rest])
  },
  check: async () => {
    await checks()
    await step('tests', node, testArgs(testFilesOf(FAST).filter(isFast), FAST_LIMIT_MS))
  },
  test: async () => {
    await model()
    if (rest.length > 0) return step('tests', node, testArgs(testFilesOf(rest), SLOW_LIMIT_MS))
    await checks()
    const all = testFilesOf([...FAST, 'test']).filter(file => !file.startsWith('test/e2e/'))
    const slow = all.filter(file => !isFast(file))
    await step('fast tests', node, testArgs(all.filter(isFast), FAST_LIMIT_MS))
    if (env.REQUIRE_CLUSTER === '1') await step('Kubernetes', node, [QUIET, 'test/cluster/main.ts', 'build'])
    await step('slow tests', node, testArgs(slow, SLOW_LIMIT_MS))
    await tasks.e2e()
  },
  e2e: () =>
    step('end to end', node, testArgs(testFilesOf(rest.length > 0 ? rest : ['test/e2e']), SLOW_LIMIT_MS, 1)),
  build: async () => {
    await step('bundle', node, [QUIET, 'scripts/bundle.ts'])
    const [folder] = rest
    if (folder) await step('image', node, [QUIET, 'scripts/image-root.ts', folder])
  },
  bench: async () => {
    await model()
    await step('bench', node, [QUIET, '--expose-gc', 'test/bench/main.ts', ...rest])
  },
  conformance: () => step('conformance', node, [QUIET, 'test/conformance/main.ts', ...rest]),
  golden: () =>
    step('golden files', node, [
      QUIET,
      '--test',
      '--test-update-snapshots',
      ...testFilesOf([...FAST, 'test']),
    ]),
  generate: () => step('generate', node, [QUIET, 'scripts/generate.ts', ...rest]),
  cluster: () => step('cluster', node, [QUIET, 'test/cluster/main.ts', ...rest]),
  record: () => step('record', node, [QUIET, 'scripts/record.ts', ...rest]),
}

if (!tasks[task]) {
  process.stderr.write(`usage: node scripts/run.mjs ${Object.keys(tasks).join('|')}\n`)
  process.exit(2)
}
await tasks[task]()

/** What needs it says so where it is skipped; where REQUIRE_MODEL is 1 there is nothing to skip. */
async function model() {
  if ((await readyModel(node, env, { sure: true })) || env.REQUIRE_MODEL !== '1') return
  process.stderr.write('✗ the model of the sentence encoder is required here\n')
  process.exit(1)
}

function bin(name) {
  return join(root, 'node_modules', '.bin', name)
}

async function checks() {
  await step('format and lint', bin('biome'), ['ci', '--colors=off', '.'])
  await step('types', bin('tsc'), ['--noEmit', '-p', '.'])
  await step('generated files', node, [QUIET, 'scripts/generate.ts', '--check'])
}

function testArgs(files, limitMs, concurrency = 2) {
  const limits = [`--test-concurrency=${concurrency}`, `--test-timeout=${limitMs}`]
  return [QUIET, '--test', ...limits, '--test-reporter=spec', ...files]
}

function isFast(file) {
  return !file.endsWith('.slow.test.ts')
}

function testFilesOf(places) {
  const files = places.flatMap(place => (place.endsWith('.ts') ? [place] : testFiles(join(root, place))))
  return [...new Set(files)].sort()
}

function testFiles(folder) {
  let entries
  try {
    entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  } catch {
    return []
  }
  return (
    entries
      .filter(entry => entry.isFile() && entry.name.endsWith('.test.ts'))
      .map(entry => relative(root, join(entry.parentPath ?? entry.path, entry.name)))
      // the tests' own clients are installed beside them
      .filter(path => !path.includes('node_modules'))
  )
}

/** Runs one command with its own streams; its failure is this process's. */
async function step(title, command, args) {
  const started = Date.now()
  process.stderr.write(`▸ ${title}\n`)
  const child = spawn(command, args, { cwd: root, env, stdio: 'inherit' })
  const code = await new Promise((resolve, reject) =>
    child.on('error', reject).on('exit', code => resolve(code ?? 1)),
  )
  if (code !== 0) {
    process.stderr.write(`✗ ${title} failed (exit code ${code})\n`)
    process.exit(code)
  }
  process.stderr.write(`✓ ${title} ${((Date.now() - started) / 1000).toFixed(1)} s\n`)
}
