/** A client's own child runs as long as the client's session: tested from HTTP to the process. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { startTestGateway } from '../test/support/local-gateway.ts'
import { createWorkspace, scriptCommand } from '../test/support/manifests.ts'
import { until } from '../test/support/until.ts'
import { isGroupAlive } from '../test/upstreams/rude/rude.ts'

test('when a session ends, only its child ends', async t => {
  const space = createWorkspace()
  t.after(() => space.remove())
  space.write('one', { ...scriptCommand('test/upstreams/rude/server.mjs', 'polite'), sessions: 'perClient' })
  const gateway = await startTestGateway(space)
  t.after(() => gateway.close())
  const open = async () => {
    const client = new Client({ name: 'test', version: '1' })
    const transport = new StreamableHTTPClientTransport(new URL(gateway.url))
    await client.connect(transport)
    t.after(() => client.close())
    const pid = async () => {
      const answer = await client.callTool({
        name: 'execute_mcp_tool',
        arguments: { tool_path: 'one:pid', arguments: {} },
      })
      return Number((answer.content as { text: string }[])[0]?.text)
    }
    return { transport, pid }
  }
  const [ann, bob] = [await open(), await open()]
  const [annsChild, bobsChild] = [await ann.pid(), await bob.pid()]
  assert.notEqual(annsChild, bobsChild)
  await ann.transport.terminateSession()
  await until(() => !isGroupAlive(annsChild))
  assert.equal(await bob.pid(), bobsChild)
})
