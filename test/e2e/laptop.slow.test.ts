/** `portolan up` on a laptop: through the wrapper script, with a client's own configuration, and with an endpoint for each server. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { createWorkspace, scriptCommand } from '../support/manifests.ts'
import { callTool } from '../support/mcp.ts'
import { startGateway } from '../support/processes.ts'
import { marked, untilGone } from '../support/processes-left.ts'

const RUDE = 'test/upstreams/rude/server.mjs'

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  test(`${signal} to the wrapper ends the gateway and its servers`, async t => {
    const space = createWorkspace()
    t.after(space.remove)
    const mark = `mark-${randomUUID()}`
    space.write('one', { ...scriptCommand(RUDE, 'polite', mark), scaling: { min: 1 } })
    const env = { ...process.env, PORTOLAN_CACHE: space.cache }
    const wrapper = spawn(
      process.execPath,
      ['scripts/portolan.mjs', 'up', space.folder, '--port', '0', '-o', 'json'],
      {
        env,
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    )
    t.after(() => wrapper.kill('SIGKILL'))
    const [line] = await once(createInterface({ input: wrapper.stdout }), 'line')
    const { url } = JSON.parse(line)
    assert.ok(marked(mark).length > 0)
    const exited = once(wrapper, 'exit')
    wrapper.kill(signal)
    const [code] = await exited
    if (signal === 'SIGTERM') assert.equal(code, 0)
    assert.deepEqual(await untilGone(mark), [])
    assert.deepEqual(await untilGone(space.folder), [])
    await assert.rejects(fetch(url))
  })
}

test("a client's own configuration is served, with its variables and disabled entries, and changes are applied", async t => {
  const space = createWorkspace()
  t.after(space.remove)
  const { command } = scriptCommand(RUDE, 'polite')
  const variable = (name: string) => `\${${name}}`
  const file = join(space.folder, 'mcp.json')
  const write = (servers: object) =>
    writeFileSync(file, `{ // as clients write it\n "mcpServers": ${JSON.stringify(servers)}, }`)
  const one = { command: command.run, args: command.args, env: { TOKEN: variable('env:MY_TOKEN') } }
  write({ 'My Server': one, off: { command: 'no-such-command', disabled: true } })
  const gateway = await startGateway([file], { cache: space.cache, env: { MY_TOKEN: 'hush' } })
  t.after(gateway.stop)
  const status = async () =>
    (await (await fetch(`${gateway.url}/debug/status`)).json()) as {
      servers: { name: string; state: string }[]
    }
  const states = Object.fromEntries((await status()).servers.map(({ name, state }) => [name, state]))
  assert.deepEqual(states, { 'my-server': 'ready', off: 'suspended' })
  const answer = await callTool(`${gateway.url}/mcp`, 'execute_mcp_tool', {
    tool_path: 'my-server:echo',
    arguments: { text: 'ahoy' },
  })
  assert.match(JSON.stringify(answer), /ahoy/)
  const changedAt = performance.now()
  write({ 'My Server': one, second: { ...one, env: {} } })
  while (!(await status()).servers.some(({ name, state }) => name === 'second' && state === 'ready'))
    assert.ok(performance.now() - changedAt < 10_000)
})

test('a server has its own endpoint only with --servers', async t => {
  const space = createWorkspace()
  t.after(space.remove)
  space.write('one', scriptCommand(RUDE, 'polite'))
  const open = await startGateway([space.folder], { cache: space.cache, args: ['--servers'] })
  t.after(open.stop)
  const client = new Client({ name: 'test', version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${open.url}/servers/one/mcp`)))
  const { tools } = await client.listTools()
  assert.ok(tools.some(({ name }) => name === 'echo'))
  const answer = await client.callTool({ name: 'echo', arguments: { text: 'ahoy' } })
  assert.match(JSON.stringify(answer), /ahoy/)
  await client.close()
  await open.stop()
  const shut = await startGateway([space.folder], { cache: space.cache })
  t.after(shut.stop)
  const refused = await fetch(`${shut.url}/servers/one/mcp`, {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json' },
  })
  assert.equal(refused.status, 404)
})
