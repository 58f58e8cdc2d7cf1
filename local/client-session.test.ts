/** A client's own child lives as long as the client's session, through all that stands between HTTP and the process. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { createLog } from '../core/log.ts'
import { createWorkspace, scriptCommand } from '../test/support/manifests.ts'
import { groupLives, until } from '../test/upstreams/rude/rude.ts'
import { startLocal } from './gateway.ts'

test('a session that ends takes its child along, and leaves those of others', async t => {
  const space = createWorkspace()
  t.after(() => space.remove())
  space.write('one', { ...scriptCommand('test/upstreams/rude/server.mjs', 'polite'), sessions: 'perClient' })
  const gateway = await startLocal({
    paths: [space.folder],
    host: '127.0.0.1',
    port: 0,
    watch: false,
    cacheFolder: space.cache,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' },
    log: createLog({ level: 'silent' }),
    onProgress: () => {},
    onFindings: () => {},
  })
  t.after(() => gateway.close())
  assert.ok(await until(() => gateway.ready()))
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
  const [of, other] = [await ann.pid(), await bob.pid()]
  assert.notEqual(of, other)
  await ann.transport.terminateSession()
  assert.ok(await until(() => !groupLives(of)))
  assert.equal(await bob.pid(), other)
})
