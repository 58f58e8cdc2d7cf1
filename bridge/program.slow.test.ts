/** The bridge as a process: how it ends, what it writes to the termination log, and its commands `install` and `deliver`. */
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { delay, systemClock } from '../core/async.ts'
import { legacy, post } from '../test/front/post.ts'
import { freePort } from '../test/support/free-port.ts'
import { marked, untilGone } from '../test/support/processes-left.ts'
import { until } from '../test/support/until.ts'
import { startRegistry } from '../test/upstreams/registry.ts'
import { rudeCommand } from '../test/upstreams/rude/rude.ts'

const MAIN = join(import.meta.dirname, 'main.ts')
const EVERYTHING = '2026.8.31'

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-bridge-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

type Options = { env?: NodeJS.ProcessEnv; user?: number }

function run(t: TestContext, args: string[], { env, user }: Options = {}) {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...env },
    ...(user === undefined ? {} : { uid: user, gid: user }),
  })
  t.after(() => child.kill('SIGKILL'))
  const stderr = { text: '' }
  child.stderr?.on('data', chunk => {
    stderr.text += chunk
  })
  return { child, stderr, code: once(child, 'close').then(([code]) => code as number) }
}

async function untilReady(port: number, child: ChildProcess): Promise<string> {
  const hasEnded = () => child.exitCode !== null
  await until(async () => hasEnded() || (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200)
  assert.equal(child.exitCode, null)
  return `http://127.0.0.1:${port}/mcp`
}

async function serveRude(t: TestContext, mode: string, mark: string) {
  const port = await freePort()
  const { command, args } = rudeCommand(mode, 0, mark)
  const running = run(t, ['--port', `${port}`, '--host', '127.0.0.1', '--', command, ...args])
  return { ...running, url: await untilReady(port, running.child) }
}

test('after SIGTERM, calls in flight finish and no process is left', async t => {
  const mark = `mark-${process.pid}-term`
  const { child, code, url } = await serveRude(t, 'ignore-term', mark)
  const call = post(url, legacy('tools/call', { name: 'sleep', arguments: { ms: 300 } }))
  await post(url, legacy('ping'))
  child.kill('SIGTERM')
  assert.match((await call).text, /slept/)
  assert.equal(await code, 0)
  assert.deepEqual(marked(mark), [])
})

test('a second SIGTERM ends the bridge at once', async t => {
  const mark = `mark-${process.pid}-second`
  const { child, code, url } = await serveRude(t, 'polite', mark)
  const call = post(url, legacy('tools/call', { name: 'hang' })).catch(error => error)
  await post(url, legacy('ping'))
  child.kill('SIGTERM')
  // A signal within a second after the first is ignored.
  await delay(systemClock, 1_100)
  child.kill('SIGTERM')
  assert.equal(await code, 143)
  await call
  assert.deepEqual(await untilGone(mark), [])
})

test('the termination log has the last output of a server that does not start', async t => {
  const folder = folderOf(t)
  const log = join(folder, 'termination-log')
  const logAfter = async (env: NodeJS.ProcessEnv, ...args: string[]) => {
    writeFileSync(log, '')
    const { code } = run(t, ['--port', '0', '--host', '127.0.0.1', '--termination-log', log, ...args], {
      env,
    })
    assert.equal(await code, 1)
    return readFileSync(log, 'utf8')
  }
  const script = 'echo "cannot log in with $API_TOKEN" >&2; echo bye >&2; exit 3'
  const crashed = await logAfter({ API_TOKEN: 'very-secret' }, '--', 'sh', '-c', script)
  const lines = 'cannot log in with [redacted]\nbye'
  const sentence = 'The server ended with exit code 3 before it was ready: cannot log in with [redacted]'
  assert.equal(crashed, `CrashLooping: ${sentence}\n${lines}`)
  assert.equal(await logAfter({}, '--', 'nowhere'), 'CommandNotFound: the command nowhere was not found')
  const late = await logAfter({}, '--start-timeout', '100ms', '--', 'sleep', '60')
  assert.equal(late, 'StartTimeout: The server did not start within 0.1 s')
  assert.match(
    await logAfter({}, '--start-file', join(folder, 'none')),
    /^StartFailed: .*cannot be read: ENOENT/,
  )
  assert.match(
    await logAfter({}, '--bearer-file', join(folder, 'none'), '--', 'cat'),
    /^StartFailed: The token file/,
  )
})

test('the error for an invalid command line shows the usage', async t => {
  const { code, stderr } = run(t, ['--port', '1'])
  assert.equal(await code, 2)
  assert.match(stderr.text, /error: the server's command is missing[\s\S]*usage:/)
})

test('the probe exits with 0 if an MCP server answers, else with 1 and a line that says why', async t => {
  const { url } = await serveRude(t, 'polite', 'probed')
  assert.equal(await run(t, ['--probe', url]).code, 0)
  const none = run(t, ['--probe', `http://127.0.0.1:${await freePort()}/mcp`])
  assert.equal(await none.code, 1)
  assert.match(none.stderr.text, /^not alive: .*ECONNREFUSED.*\n$/)
})

test('a user without root rights can install a server and start it', async t => {
  const registry = await startRegistry()
  t.after(() => registry.close())
  const user = process.getuid?.() === 0 ? 65_532 : undefined
  const folder = folderOf(t)
  const [home, into] = [join(folder, 'home'), join(folder, 'into')]
  chmodSync(folder, 0o755)
  for (const made of [home, into]) {
    mkdirSync(made)
    chmodSync(made, 0o777)
  }
  const env = { HOME: home, TMPDIR: home, npm_config_userconfig: join(home, '.npmrc') }
  const options = ['--version', '1.0.0', '--registry', registry.npm, '--into', into]
  const installing = run(t, ['install', 'npm', 'greeter', ...options], { env, user })
  assert.equal(await installing.code, 0, installing.stderr.text)
  const start = JSON.parse(readFileSync(join(into, 'start.json'), 'utf8'))
  assert.match(start.command, /\/node$/)
  assert.equal(start.args[0], join(into, 'package', 'node_modules', 'greeter', 'server.js'))
  const port = await freePort()
  const serving = ['--port', `${port}`, '--host', '127.0.0.1', '--start-file', join(into, 'start.json')]
  const { child } = run(t, [...serving, '--', '--verbose', 'now'], { env, user })
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(await untilReady(port, child))))
  assert.equal(client.getInstructions(), '--verbose now')
  await client.close()
})

for (const installer of ['uv', 'pip']) {
  test(`a PyPI server is installed by ${installer} from an index without TLS`, async t => {
    const registry = await startRegistry()
    t.after(() => registry.close())
    const folder = folderOf(t)
    const env: NodeJS.ProcessEnv = { PIP_FIND_LINKS: '' }
    if (installer === 'pip') {
      // A PATH that contains only python.
      const python = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], {
        encoding: 'utf8',
      })
      symlinkSync(python.trim(), join(folder, 'python3'))
      env.PATH = folder
    }
    const options = ['--version', '1.0.0', '--registry', registry.pypi, '--into', join(folder, 'into')]
    const { code, stderr } = run(t, ['install', 'pypi', 'greeter', ...options], { env })
    assert.equal(await code, 0, stderr.text)
    const port = await freePort()
    const serving = [
      '--port',
      `${port}`,
      '--host',
      '127.0.0.1',
      '--start-file',
      join(folder, 'into', 'start.json'),
    ]
    const { child } = run(t, [...serving, '--', 'hello'])
    const { json } = await post(await untilReady(port, child), legacy('initialize'))
    assert.match(JSON.stringify(json), /"instructions":"hello"/)
  })
}

test('a failed installation writes the reason to the termination log, and exits with 1', async t => {
  const registry = await startRegistry()
  t.after(() => registry.close())
  const folder = folderOf(t)
  const log = join(folder, 'termination-log')
  writeFileSync(log, '')
  const options = ['--registry', registry.npm, '--into', folder, '--termination-log', log]
  const { code } = run(t, ['install', 'npm', 'absent', ...options])
  assert.equal(await code, 1)
  assert.match(readFileSync(log, 'utf8'), /^InstallFailed: absent could not be installed\. .*\n[\s\S]*404/)
})

test('neither stderr nor the termination log of a failed installation has a secret', async t => {
  const registry = await startRegistry()
  t.after(() => registry.close())
  const folder = folderOf(t)
  const log = join(folder, 'termination-log')
  writeFileSync(log, '')
  const options = ['--registry', `${registry.npm}s3cr3t-value/`, '--into', folder, '--termination-log', log]
  const env = { NPM_TOKEN: 's3cr3t-value' }
  const { code, stderr } = run(t, ['install', 'npm', 'absent', ...options], { env })
  assert.equal(await code, 1)
  for (const text of [stderr.text, readFileSync(log, 'utf8')]) {
    assert.match(text, /404[\s\S]*\[redacted\]/)
    assert.doesNotMatch(text, /s3cr3t/)
  }
})

test('tools, resources, prompts and progress of server-everything of npm work through the bridge', async t => {
  const folder = folderOf(t)
  const options = ['--version', EVERYTHING, '--into', folder]
  const installing = run(t, ['install', 'npm', '@modelcontextprotocol/server-everything', ...options])
  assert.equal(await installing.code, 0, installing.stderr.text)
  const port = await freePort()
  const serving = ['--port', `${port}`, '--host', '127.0.0.1', '--start-file', join(folder, 'start.json')]
  const { child } = run(t, [...serving, '--sessions', 'perClient', '--', 'stdio'])
  const client = new Client({ name: 'test', version: '1' })
  t.after(() => client.close())
  await client.connect(new StreamableHTTPClientTransport(new URL(await untilReady(port, child))))
  assert.ok((await client.listTools()).tools.length > 5)
  const sum = await client.callTool({ name: 'get-sum', arguments: { a: 2, b: 3 } })
  assert.match(JSON.stringify(sum.content), /5/)
  assert.ok((await client.listResources()).resources.length > 0)
  assert.ok((await client.listPrompts()).prompts.length > 0)
  const seen: number[] = []
  await client.callTool(
    { name: 'trigger-long-running-operation', arguments: { duration: 0.1, steps: 2 } },
    undefined,
    { onprogress: ({ progress }) => seen.push(progress) },
  )
  assert.deepEqual(seen, [1, 2])
})

test('deliver copies the folder that contains the program', async t => {
  const folder = folderOf(t)
  const from = join(folder, 'from')
  mkdirSync(join(from, 'lib'), { recursive: true })
  writeFileSync(join(from, 'lib', 'libc.so.6'), 'library')
  writeFileSync(join(from, 'node'), 'node', { mode: 0o755 })
  writeFileSync(join(from, 'bridge.mjs'), `import(${JSON.stringify(MAIN)})`)
  const to = join(folder, 'to')
  mkdirSync(to)
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', join(from, 'bridge.mjs'), 'deliver', to],
    {
      stdio: 'inherit',
    },
  )
  const [code] = await once(child, 'close')
  assert.equal(code, 0)
  assert.equal(readFileSync(join(to, 'lib', 'libc.so.6'), 'utf8'), 'library')
  assert.ok(statSync(join(to, 'node')).mode & 0o100)
})
