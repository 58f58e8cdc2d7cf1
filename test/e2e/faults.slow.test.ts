/** Servers that hang, die and flood, reloads under load, and gateways that are killed: through the real command. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { test } from 'node:test'
import { createWorkspace, scriptCommand } from '../support/manifests.ts'
import { callTool, discoverTools } from '../support/mcp.ts'
import { type Gateway, startGateway } from '../support/processes.ts'
import { marked, untilGone } from '../support/processes-left.ts'
import { until } from '../support/until.ts'

const RUDE = 'test/upstreams/rude/server.mjs'
const RELOADS = 100
const CALLERS = 8

test('servers that hang or do not start delay no other server, and the error of a call names the server', async t => {
  const space = createWorkspace()
  t.after(space.remove)
  space.write('good', scriptCommand(RUDE, 'polite'))
  space.write('deaf', { ...scriptCommand(RUDE, 'hang-initialize'), limits: { startTimeout: '3s' } })
  space.write('mute', { ...scriptCommand(RUDE, 'hang-list'), limits: { startTimeout: '3s' } })
  space.write('gone', { command: { run: 'no-such-command-anywhere' } })
  const gateway = await startGateway([space.folder], { cache: space.cache })
  t.after(gateway.stop)
  const mcp = `${gateway.url}/mcp`
  const answer = await callTool(mcp, 'execute_mcp_tool', {
    tool_path: 'good:echo',
    arguments: { text: 'still here' },
  })
  assert.match(answer.content[0]?.text ?? '', /still here/)
  for (const server of ['deaf', 'gone']) {
    const refused = await callTool(mcp, 'execute_mcp_tool', {
      tool_path: `${server}:anything`,
      arguments: {},
    })
    assert.equal(refused.isError, true)
    assert.match(refused.content[0]?.text ?? '', new RegExp(server))
  }
})

test('calls to a killed server are answered, and it restarts by itself', async t => {
  const space = createWorkspace()
  t.after(space.remove)
  const mark = `mark-${randomUUID()}`
  space.write('victim', scriptCommand(RUDE, 'polite', mark))
  const gateway = await startGateway([space.folder], { cache: space.cache })
  t.after(gateway.stop)
  const call = () =>
    callTool(`${gateway.url}/mcp`, 'execute_mcp_tool', {
      tool_path: 'victim:echo',
      arguments: { text: 'hi' },
    })
  await call()
  const load = underLoad(call)
  t.after(load.stop)
  for (const pid of marked(mark)) process.kill(pid, 'SIGKILL')
  await untilAnswered(call)
  const { answered, failed } = await load.stop()
  assert.ok(answered > 0)
  assert.equal(failed, 0, 'an HTTP request went unanswered')
})

test(`${RELOADS} reloads under load fail no call`, async t => {
  const space = createWorkspace()
  t.after(space.remove)
  const mark = `mark-${randomUUID()}`
  space.write('steady', scriptCommand(RUDE, 'polite', mark))
  const gateway = await startGateway([space.folder], { cache: space.cache })
  t.after(gateway.stop)
  const mcp = `${gateway.url}/mcp`
  let errors = 0
  const call = async () => {
    const answer = await callTool(mcp, 'execute_mcp_tool', {
      tool_path: 'steady:echo',
      arguments: { text: 'hi' },
    })
    if (answer.isError) errors++
    return answer
  }
  await call()
  const before = marked(mark)
  const load = underLoad(call)
  t.after(load.stop)
  for (let reload = 0; reload < RELOADS; reload++) {
    const generation = await generationOf(gateway)
    space.write('steady', { ...scriptCommand(RUDE, 'polite', mark), description: `edition ${reload}` })
    await until(async () => (await generationOf(gateway)) > generation)
  }
  const { answered, failed } = await load.stop()
  assert.ok(answered > RELOADS)
  assert.deepEqual({ failed, errors }, { failed: 0, errors: 0 })
  assert.deepEqual(marked(mark), before, 'the server was restarted though only its description changed')
})

for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
  test(`no process is left behind when the gateway gets ${signal}`, async t => {
    const space = createWorkspace()
    t.after(space.remove)
    const mark = `mark-${randomUUID()}`
    for (const [name, mode] of [
      ['plain', 'polite'],
      ['stubborn', 'ignore-term'],
      ['parent', 'grandchildren'],
    ] as const) {
      space.write(name, { ...scriptCommand(RUDE, mode, mark), scaling: { min: 1 } })
    }
    const gateway = await startGateway([space.folder], { cache: space.cache })
    t.after(gateway.stop)
    assert.ok(marked(mark).length >= 3)
    const exited = once(gateway.child, 'exit')
    gateway.child.kill(signal)
    await exited
    assert.deepEqual(await untilGone(mark), [])
  })
}

test('a broken file keeps its last valid server, and a repaired one is applied', async t => {
  const space = createWorkspace()
  t.after(space.remove)
  space.write('kept', { ...scriptCommand(RUDE, 'polite'), description: 'first edition' })
  const gateway = await startGateway([space.folder], { cache: space.cache })
  t.after(gateway.stop)
  space.write('kept', { ...scriptCommand(RUDE, 'polite'), scaling: { min: 'many' } })
  await until(async () => gateway.stderr().includes('spec.scaling.min'))
  const { tools } = await discoverTools(`${gateway.url}/mcp`, 'kept:echo')
  assert.equal(tools[0]?.tool_path, 'kept:echo')
  const generation = await generationOf(gateway)
  space.write('kept', { ...scriptCommand(RUDE, 'polite'), description: 'second edition' })
  await until(async () => (await generationOf(gateway)) > generation)
})

function underLoad(call: () => Promise<unknown>): { stop(): Promise<{ answered: number; failed: number }> } {
  let running = true
  let answered = 0
  let failed = 0
  const callers = Array.from({ length: CALLERS }, async () => {
    while (running) {
      await call().then(
        () => answered++,
        () => failed++,
      )
    }
  })
  return {
    async stop() {
      running = false
      await Promise.all(callers)
      return { answered, failed }
    },
  }
}

async function untilAnswered(call: () => Promise<{ isError?: boolean }>): Promise<void> {
  await until(async () => (await call()).isError !== true)
}

async function generationOf(gateway: Gateway): Promise<number> {
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text()
  return Number(/^portolan_catalog_generation(?:\{[^}]*\})? (\d+)/m.exec(metrics)?.[1] ?? -1)
}
