/** Real processes that behave badly, and how they end. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { until } from '../../../../test/support/until.ts'
import { isGroupAlive, rudeCommand } from '../../../../test/upstreams/rude/rude.ts'
import { type Clock, systemClock } from '../../../async.ts'
import { Child, type ChildDeps, type ChildSpec } from './child.ts'

function start(t: TestContext, spec: ChildSpec, more: Partial<ChildDeps> = {}) {
  const heard = { stdout: '', stderr: [] as string[] }
  const child = new Child(spec, {
    clock: systemClock,
    secrets: [],
    onData: chunk => {
      heard.stdout += chunk
    },
    onStderr: line => heard.stderr.push(line),
    ...more,
  })
  t.after(() => child.stop(0))
  return { child, heard }
}

const script = (code: string): ChildSpec => ({ command: process.execPath, args: ['-e', code], env: {} })
const printed = (pattern: RegExp) => (heard: { stdout: string }) => pattern.test(heard.stdout)

test('a child gets exactly the given environment, folder and arguments', async t => {
  const code =
    'console.log(JSON.stringify({ env: process.env, cwd: process.cwd(), args: process.argv.slice(1) }))'
  const { child, heard } = start(t, {
    command: process.execPath,
    args: ['-e', code, '--', 'a b', '$HOME', ''],
    env: { ONLY: 'this' },
    cwd: '/',
  })
  assert.deepEqual(await child.exited, { code: 0, signal: null })
  assert.deepEqual(JSON.parse(heard.stdout), { env: { ONLY: 'this' }, cwd: '/', args: ['a b', '$HOME', ''] })
})

test('all output of a child arrives before its exit is reported', async t => {
  const { child, heard } = start(t, script("process.stdout.write('x'.repeat(500_000) + 'end')"))
  await child.exited
  assert.equal(heard.stdout.length, 500_003)
})

test('a missing command or folder, a file that is no program, and an invalid variable are an exit with a reason', async t => {
  const cases: [ChildSpec, RegExp][] = [
    [{ command: 'no-such-command', args: [], env: {} }, /no-such-command.* was not found/],
    [{ ...script(''), cwd: '/no/such/folder' }, /or its folder \/no\/such\/folder, was not found/],
    [{ command: '/etc/passwd', args: [], env: {} }, /could not be started \(EACCES\)/],
    [{ ...script(''), env: { BAD: 'null\0byte' } }, /could not be started/],
  ]
  for (const [spec, expected] of cases) {
    const { child } = start(t, spec)
    assert.match((await child.exited).notStarted ?? '', expected)
    await child.stop()
  }
})

test('stop does not wait for a clock that was set back', { timeout: 20_000 }, async t => {
  let behind = 0
  const clock: Clock = { ...systemClock, now: () => systemClock.now() - behind }
  const code = "process.on('SIGTERM', () => {}); setInterval(() => {}, 60_000); console.log(process.pid)"
  const { child, heard } = start(t, script(code), { clock })
  await until(() => printed(/\d+\n/)(heard))
  const stopped = child.stop(200)
  behind = 3_600_000
  await stopped
  assert.equal((await child.exited).signal, 'SIGKILL')
})

test('stop ends a child that ignores the end of its input and TERM', async t => {
  const code = "process.on('SIGTERM', () => {}); setInterval(() => {}, 60_000); console.log(process.pid)"
  const { child, heard } = start(t, script(code))
  await until(() => printed(/\d+\n/)(heard))
  const started = performance.now()
  await child.stop(200)
  assert.ok(performance.now() - started < 1_500)
  assert.equal((await child.exited).signal, 'SIGKILL')
  assert.equal(isGroupAlive(Number(heard.stdout)), false)
})

test('stop ends grandchildren that hold the pipes and ignore TERM', async t => {
  const { child, heard } = start(t, rudeCommand('grandchildren'))
  child.write('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n')
  child.write('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"pid"}}\n')
  await until(() => printed(/"text":"(\d+)"/)(heard))
  const group = Number(/"text":"(\d+)"/.exec(heard.stdout)?.[1])
  await child.stop(200)
  assert.equal(isGroupAlive(group), false)
})

test('grandchildren also end when their parent dies, and do not delay the report of its exit', async t => {
  const grandchild = "process.on('SIGTERM', () => {}); setInterval(() => {}, 60_000); console.log('up')"
  const code = `
    const { spawn } = require('node:child_process')
    spawn(process.execPath, ['-e', ${JSON.stringify(grandchild)}], { stdio: ['inherit', 'pipe', 'inherit'] })
      .stdout.once('data', () => { console.log(process.pid); process.exit(5) })`
  const { child, heard } = start(t, script(code))
  assert.deepEqual(await child.exited, { code: 5, signal: null })
  const group = Number(heard.stdout)
  assert.ok(group > 0)
  await child.stop()
  assert.equal(isGroupAlive(group), false)
})

test('a child that closes its standard output is ended', async t => {
  const { child } = start(t, script("setInterval(() => {}, 60_000); require('node:fs').closeSync(1)"))
  assert.notEqual((await child.exited).signal, null)
})

test('a child that does not read makes the writer wait, until it ends', async t => {
  const { child } = start(t, script('setInterval(() => {}, 60_000)'))
  for (let written = 0; !child.blocked; written++) {
    assert.ok(written < 10_000)
    child.write('x'.repeat(10_000))
  }
  const drained = child.drained()
  await child.stop(0)
  await drained
  assert.equal(child.blocked, false)
  child.write('after the end')
})

test('of much output on standard error, only the last 50 lines are kept', async t => {
  const { child, heard } = start(t, rudeCommand('stderr-flood'))
  await until(() => heard.stderr.length >= 40)
  assert.equal(child.stderr().length, 50)
  assert.match(child.stderr()[49] ?? '', /^noise noise/)
  await child.stop()
})

test('a line of standard error that never ends is cut', async t => {
  const code = "process.stderr.write('word '.repeat(100_000), () => process.stderr.write('\\nlast\\n'))"
  const { child } = start(t, script(code))
  await child.exited
  const [long, last] = child.stderr()
  assert.ok((long?.length ?? 0) < 2_100)
  assert.match(long ?? '', /^word word .*…$/)
  assert.equal(last, 'last')
})

test('secrets are removed from the standard error of a child', async t => {
  const { child, heard } = start(t, script("console.error('refused: hunter22')"), { secrets: ['hunter22'] })
  await child.exited
  assert.deepEqual(child.stderr(), ['refused: [redacted]'])
  assert.deepEqual(heard.stderr, ['refused: [redacted]'])
})
