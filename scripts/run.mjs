/** The project's own tasks: start, check, test, e2e, bench, conformance, build and more. Plain JavaScript for Node 20; the work runs on Node 24. */
import { spawn } from 'node:child_process'
import { delimiter, dirname, join } from 'node:path'
import { compiled, readyNode, root, runPortolan } from './bootstrap.mjs'
import { readyModel } from './model.mjs'
import { isFast, runsFolder, testArgs, testFilesOf, withNothing } from './test-runs.mjs'

const QUIET = '--disable-warning=ExperimentalWarning'
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
    await fastTests(testFilesOf(FAST))
  },
  test: async () => {
    if (rest.length > 0) return someTests(testFilesOf(rest))
    await step('plan', node, [QUIET, 'test/needs/main.ts', 'plan'])
    await checks()
    const all = testFilesOf([...FAST, 'test']).filter(file => !file.startsWith('test/e2e/'))
    await fastTests(all)
    await needs()
    await slowTests('slow tests', all)
    await slowTests('end to end', testFilesOf(['test/e2e']), 1)
  },
  e2e: async () => {
    await needs()
    await slowTests('end to end', testFilesOf(rest.length > 0 ? rest : ['test/e2e']), 1)
  },
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
const folder = runsFolder()
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

/** Those of these files that need nothing but the packages of this project, and find nothing else. */
function fastTests(files) {
  const title = 'fast tests'
  const args = [QUIET, ...testArgs(files.filter(isFast), { folder: folder(), title })]
  return step(title, node, args, withNothing(env, folder()))
}

function slowTests(title, files, concurrency) {
  const slow = files.filter(file => !isFast(file))
  return step(title, node, [QUIET, ...testArgs(slow, { folder: folder(), title, concurrency })])
}

async function someTests(files) {
  if (files.some(isFast)) await fastTests(files)
  if (files.every(isFast)) return
  await needs()
  await slowTests('slow tests', files)
}

/** Builds and fetches what slow tests need. */
async function needs() {
  await model()
  await step('what slow tests need', node, [QUIET, 'test/needs/main.ts'])
}

/** Runs one command with its own streams; its failure is this process's. */
async function step(title, command, args, environment = env) {
  const started = Date.now()
  process.stderr.write(`▸ ${title}\n`)
  const child = spawn(command, args, { cwd: root, env: environment, stdio: 'inherit' })
  const code = await new Promise((resolve, reject) =>
    child.on('error', reject).on('exit', code => resolve(code ?? 1)),
  )
  if (code !== 0) {
    process.stderr.write(`✗ ${title} failed (exit code ${code})\n`)
    process.exit(code)
  }
  process.stderr.write(`✓ ${title} ${((Date.now() - started) / 1000).toFixed(1)} s\n`)
}
