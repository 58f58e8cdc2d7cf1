/** Requests to the gateway, at a real HTTP server. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { listen } from './mcp.ts'

test('who listens to changes of a resource is told of each, and of the end of the stream', async t => {
  const changed = { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'note://a' } }
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`data: ${JSON.stringify(changed)}\n\n`.repeat(2))
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  let changes = 0
  const options = { base: `http://127.0.0.1:${port}/`, credentials: {} }
  await assert.rejects(
    listen('note://a', () => changes++, options),
    /no longer reports changes/,
  )
  assert.equal(changes, 2)
})
