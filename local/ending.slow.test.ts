/** A gateway whose router cannot be closed in order. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { startTestGateway } from '../test/support/local-gateway.ts'
import { createWorkspace, scriptCommand } from '../test/support/manifests.ts'
import { until } from '../test/support/until.ts'
import { isGroupAlive } from '../test/upstreams/rude/rude.ts'

const GATEWAY = {
  apiVersion: 'portolan.dev/v1alpha1',
  kind: 'McpGateway',
  metadata: { name: 'tools' },
  spec: { audit: { events: ['Calls'] } },
}

test('if the router fails while it is closed, the servers end all the same, and the error is reported', async t => {
  const space = createWorkspace()
  t.after(() => space.remove())
  space.write('one', scriptCommand('test/upstreams/rude/server.mjs', 'polite'))
  writeFileSync(join(space.folder, 'gateway.yaml'), JSON.stringify(GATEWAY))
  const stream = new Writable({ write: (_chunk, _encoding, done) => done() })
  const gateway = await startTestGateway(space, { auditStream: () => stream })
  t.after(() => gateway.close().catch(() => {}))
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url)))
  const call = { name: 'execute_mcp_tool', arguments: { tool_path: 'one:pid', arguments: {} } }
  const answer = await client.callTool(call)
  const pid = Number((answer.content as { text: string }[])[0]?.text)
  assert.ok(isGroupAlive(pid), JSON.stringify(answer))
  await client.close()
  Object.defineProperty(stream, 'writableLength', {
    get() {
      throw new Error('the stream is broken')
    },
  })
  await assert.rejects(gateway.close(), /the stream is broken/)
  await until(() => !isGroupAlive(pid))
})
