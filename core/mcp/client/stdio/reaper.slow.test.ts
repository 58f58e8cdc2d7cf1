/** No processes remain when a gateway is killed. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { until } from '../../../../test/support/until.ts'
import { childrenOf, isGroupAlive, rudeCommand } from '../../../../test/upstreams/rude/rude.ts'
import { systemClock } from '../../../async.ts'
import { Child, GATE } from './child.ts'
import { type Reaper, startReaper } from './reaper.ts'

const GATEWAY = join(import.meta.dirname, '../../../../test/upstreams/rude/gateway.ts')
const onLinux = { skip: process.platform === 'linux' ? false : 'reads /proc' }

/** Starts a separate process that runs one child for each mode. */
async function startGateway(
  t: TestContext,
  ...modes: string[]
): Promise<{ gateway: ChildProcess; groups: number[] }> {
  const gateway = spawn(process.execPath, [GATEWAY, ...modes], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => gateway.kill('SIGKILL'))
  const [line] = (await once(createInterface(gateway.stdout), 'line')) as [string]
  const groups: number[] = JSON.parse(line)
  assert.ok(groups.length === modes.length && groups.every(isGroupAlive))
  return { gateway, groups }
}

/** Resolves once the event loop of the gateway has run. */
async function eventLoopTurn({ stdin, stdout }: ChildProcess): Promise<void> {
  assert.ok(stdin && stdout)
  const echoed = once(createInterface(stdout), 'line')
  stdin.write('turn\n')
  await echoed
}

const anyLives = (groups: number[]) => groups.some(isGroupAlive)

test('after kill -9 of the gateway all servers end, also those that ignore TERM or have children', async t => {
  const { gateway, groups } = await startGateway(t, 'polite', 'ignore-term', 'grandchildren', 'deaf-to-end')
  gateway.kill('SIGKILL')
  await until('no process is left', () => !anyLives(groups))
})

test('a killed reaper is started again and gets all groups', onLinux, async t => {
  const { gateway, groups } = await startGateway(t, 'deaf-to-end')
  const reaper = () => childrenOf(gateway.pid ?? 0, 'portolan-reaper')[0]
  const first = reaper()
  assert.ok(first)
  process.kill(first, 'SIGKILL')
  await until('a new reaper runs', () => (reaper() ?? first) !== first)
  // the new reaper is a process before the gateway has written the groups into its pipe, which it does in the same turn
  await eventLoopTurn(gateway)
  gateway.kill('SIGKILL')
  await until('no process is left', () => !anyLives(groups))
})

test('the signals that end a terminal session do not end the reaper', onLinux, async t => {
  const { gateway, groups } = await startGateway(t, 'deaf-to-end')
  const [reaper] = childrenOf(gateway.pid ?? 0, 'portolan-reaper')
  assert.ok(reaper)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(reaper, signal)
  gateway.kill('SIGKILL')
  await until('no process is left', () => !anyLives(groups))
})

test('closing the reaper ends only the groups that it watches', async t => {
  const reaper = startReaper()
  const [watched, forgotten] = [sleeper(), sleeper()]
  t.after(() => {
    for (const child of [watched, forgotten]) child.kill('SIGKILL')
  })
  await Promise.all([reaper.watch(watched.pid as number), reaper.watch(forgotten.pid as number)])
  reaper.forget(forgotten.pid as number)
  await reaper.close()
  if (watched.signalCode === null) await once(watched, 'exit')
  assert.equal(watched.signalCode, 'SIGTERM')
  assert.equal(isGroupAlive(forgotten.pid as number), true)
})

test('a child runs nothing before the reaper knows its group, and can be stopped before', async () => {
  let confirmWatch: () => void = () => {}
  const slowReaper: Reaper = {
    watch: () => new Promise<void>(resolve => (confirmWatch = resolve)),
    forget() {},
    async close() {},
  }
  const { output, collect } = collector()
  const child = new Child(
    { command: process.execPath, args: ['-p', '1 + 1'], env: {} },
    {
      clock: systemClock,
      reaper: slowReaper,
      secrets: [],
      onData: collect,
      onStderr() {},
    },
  )
  await child.stop()
  assert.equal((await child.exited).notStarted, undefined)
  assert.equal(output(), '')
  confirmWatch()
})

test('if the gateway dies before the child runs, the child exits', async () => {
  const child = spawn('/bin/sh', ['-c', GATE, 'echo', 'ran'], { stdio: ['ignore', 'pipe', 'ignore', 'pipe'] })
  let output = ''
  child.stdout?.on('data', chunk => {
    output += chunk
  })
  ;(child.stdio[3] as { destroy(): void } | null | undefined)?.destroy()
  await once(child, 'close')
  assert.equal(output, '')
})

test('variables with names that a shell would drop reach the child', async () => {
  const reaper = startReaper()
  const { output, collect } = collector()
  const { command } = rudeCommand('polite')
  const child = new Child(
    { command, args: ['-p', 'JSON.stringify(process.env)'], env: { 'with-dash': '1' } },
    { clock: systemClock, reaper, secrets: [], onData: collect, onStderr() {} },
  )
  await child.exited
  await child.stop()
  await reaper.close()
  assert.deepEqual(JSON.parse(output()), { 'with-dash': '1' })
})

function sleeper(): ChildProcess {
  return spawn(process.execPath, ['-e', 'setInterval(() => {}, 60_000)'], { detached: true, stdio: 'ignore' })
}

function collector() {
  let text = ''
  const collect = (chunk: Buffer) => {
    text += chunk
  }
  return { output: () => text, collect }
}
