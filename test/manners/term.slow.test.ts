/** A gateway as a process that gets a signal while calls are in flight. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { createWorkspace, scriptCommand } from '../support/manifests.ts'
import { callTool } from '../support/mcp.ts'
import { startGateway } from '../support/processes.ts'
import { until } from '../support/until.ts'

const RUDE = 'test/upstreams/rude/server.mjs'
const CALLS = 8
const SLEEP_MS = 1_500

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`calls in flight are answered after ${signal}, then the process exits with 0 and accepts no connections`, async t => {
    const space = createWorkspace()
    t.after(space.remove)
    space.write('one', { ...scriptCommand(RUDE, 'polite'), scaling: { min: 1 } })
    const gateway = await startGateway([space.folder], { cache: space.cache })
    t.after(gateway.stop)
    const url = `${gateway.url}/mcp`
    const sleep = { tool_path: 'one:sleep', arguments: { ms: SLEEP_MS } }
    const calls = Array.from({ length: CALLS }, () => callTool(url, 'execute_mcp_tool', sleep))
    await until(async () => (await inFlight(gateway.url)) >= CALLS)
    const exited = once(gateway.child, 'exit')
    gateway.child.kill(signal)
    for (const call of calls) assert.equal((await call).content[0]?.text, 'slept')
    assert.deepEqual(await exited, [0, null])
    await assert.rejects(fetch(url))
  })
}

async function inFlight(origin: string): Promise<number> {
  const status = await (await fetch(`${origin}/debug/status`)).json()
  return (status as { pool: { active: number }[] }).pool[0]?.active ?? 0
}
