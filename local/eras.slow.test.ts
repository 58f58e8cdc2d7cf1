/** Clients and servers of both eras on a laptop: questions from the process reach the client, and its answers reach the process. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { legacyClient, modernClient } from '../test/support/answering-clients.ts'
import { startTestGateway } from '../test/support/local-gateway.ts'
import { createWorkspace, scriptCommand } from '../test/support/manifests.ts'
import { ANSWERS } from '../test/upstreams/asking/questions.ts'

const KINDS = Object.keys(ANSWERS).join(' ')

test('questions of servers reach clients for each pair of eras, but shared legacy servers cannot ask', async t => {
  const space = createWorkspace()
  t.after(() => space.remove())
  const asking = (file: string, ...args: string[]) =>
    scriptCommand(join('test/upstreams/asking', file), ...args)
  space.write('legacy', { ...asking('legacy.ts'), sessions: 'perClient' })
  space.write('modern', { ...asking('modern.ts', 'reject'), sessions: 'shared' })
  space.write('shared', { ...asking('legacy.ts'), sessions: 'shared' })
  const gateway = await startTestGateway(space)
  t.after(() => gateway.close())
  for (const connect of [legacyClient, modernClient]) {
    const { call, asked } = await connect(t, gateway.url)
    const execute = async (server: string, kinds: string) => {
      const args = { tool_path: `${server}:ask`, arguments: { kinds } }
      return JSON.parse(await call('execute_mcp_tool', args))
    }
    assert.deepEqual(await execute('legacy', KINDS), ANSWERS)
    assert.deepEqual(await execute('modern', KINDS), ANSWERS)
    assert.equal(asked.length, 8)
    assert.match((await execute('shared', 'roots')).roots.failed, /roots/)
    assert.equal(asked.length, 8)
    const hidden = { tool_path: 'legacy:hidden', arguments: {} }
    assert.equal(await call('execute_mcp_tool', hidden), 'here')
    const { client } = await connect(t, gateway.url, { roots: {} })
    const { content } = await client.callTool({ name: 'execute_mcp_tool', arguments: hidden })
    assert.match(JSON.stringify(content), /not found.*can be asked for elicitation, sampling\./)
  }
})
