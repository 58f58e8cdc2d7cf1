/** The project's own tasks: start, check, test, e2e, bench, conformance, build and more. Plain JavaScript for Node 20; the work runs on Node 24. */
import { delimiter, dirname, join } from 'node:path'
import { readyNode, root, runPortolan, withCompileCache } from './bootstrap.mjs'
import { readyModel } from './model.mjs'
import { step, stepsAtOnce } from './steps.mjs'
import {
  fastGroups,
  hasGolden,
  isFast,
  runsFolder,
  testArgs,
  testFilesOf,
  withNothing,
} from './test-runs.mjs'

const QUIET = '--disable-warning=ExperimentalWarning'
/** Incremental: unchanged files are not checked again. */
const TYPES = [
  '--noEmit',
  '--incremental',
  '--tsBuildInfoFile',
  join(root, 'node_modules', '.cache', 'types.tsbuildinfo'),
]
/** The folders with fast tests; `check` ignores their *.slow.test.ts files, which only `test` runs. */
const FAST = [
  ...['crds', 'core', 'operator', 'router', 'bridge', 'local', 'cli', 'console'],
  ...['test/contract', 'test/golden', 'test/architecture.test.ts'],
]

const [task, ...rest] = process.argv.slice(2)
const node = await readyNode()
const env = { ...withCompileCache(process.env), PATH: `${dirname(node)}${delimiter}${process.env.PATH}` }

const tasks = {
  start: async () => {
    await readyModel(node, process.env)
    process.exitCode = await runPortolan(node, ['up', 'examples/laptop', ...rest])
  },
  check: async () => {
    await stepsAtOnce([...checks(), ...fastTests(testFilesOf(FAST))])
  },
  test: async () => {
    if (rest.length > 0) return someTests(testFilesOf(rest))
    await script('plan', ['test/needs/main.ts', 'plan'])
    const all = testFilesOf([...FAST, 'test']).filter(file => !file.startsWith('test/e2e/'))
    await stepsAtOnce([...checks(), ...fastTests(all)])
    await needs()
    await slowTests('slow tests', all)
    await slowTests('end to end', testFilesOf(['test/e2e']), 1)
  },
  e2e: async () => {
    await needs()
    await slowTests('end to end', testFilesOf(rest.length > 0 ? rest : ['test/e2e']), 1)
  },
  build: async () => {
    await script('bundle', ['scripts/bundle.ts'])
    const [folder] = rest
    if (folder) await script('image', ['scripts/image-root.ts', folder])
  },
  bench: async () => {
    await model()
    await script('bench', ['--expose-gc', 'test/bench/main.ts', ...rest])
  },
  conformance: () => script('conformance', ['test/conformance/main.ts', ...rest]),
  golden: () =>
    script('golden files', [
      '--test',
      '--test-update-snapshots',
      ...testFilesOf([...FAST, 'test']).filter(hasGolden),
    ]),
  generate: () => script('generate', ['scripts/generate.ts', ...rest]),
  cluster: () => script('cluster', ['test/cluster/main.ts', ...rest]),
  record: () => script('record', ['scripts/record.ts', ...rest]),
  screenshots: () => script('screenshots', ['scripts/screenshots.ts', ...rest]),
}

if (!tasks[task]) {
  process.stderr.write(`usage: node scripts/run.mjs ${Object.keys(tasks).join('|')}\n`)
  process.exit(2)
}
const folder = runsFolder()
await tasks[task]()

/** Fetches the model. If that fails, tests that need it are skipped with a reason, but with REQUIRE_MODEL=1 the run fails here. */
async function model() {
  if ((await readyModel(node, env, { sure: true })) || env.REQUIRE_MODEL !== '1') return
  process.stderr.write('✗ the model of the sentence encoder is required here\n')
  process.exit(1)
}

function bin(name) {
  return join(root, 'node_modules', '.bin', name)
}

function checks() {
  return [
    { title: 'format and lint', command: bin('biome'), args: ['ci', '--colors=off', '.'], env },
    { title: 'types', command: bin('tsc'), args: [...TYPES, '-p', '.'], env },
    { title: 'types of the console', command: bin('tsc'), args: ['--noEmit', '-p', 'console'], env },
    { title: 'generated files', command: node, args: [QUIET, 'scripts/generate.ts', '--check'], env },
  ]
}

/** Runs a script on Node 24. */
function script(title, args) {
  return step({ title, command: node, args: [QUIET, ...args], env })
}

/** Steps for the fast tests among these files, which run in an environment with nothing but the npm packages. */
function fastTests(files) {
  const nothing = withNothing(env, folder())
  return fastGroups(files.filter(isFast)).map((group, at) => {
    const title = `fast tests ${at + 1}`
    const args = [QUIET, ...testArgs(group, { folder: folder(), title, shared: true })]
    return { title, command: node, args, env: nothing }
  })
}

function slowTests(title, files, concurrency) {
  const slow = files.filter(file => !isFast(file))
  return script(title, testArgs(slow, { folder: folder(), title, concurrency }))
}

async function someTests(files) {
  if (files.some(isFast)) await stepsAtOnce(fastTests(files))
  if (files.every(isFast)) return
  await needs()
  await slowTests('slow tests', files)
}

/** Builds and fetches the dependencies of slow tests. */
async function needs() {
  await model()
  await script('what slow tests need', ['test/needs/main.ts'])
}
