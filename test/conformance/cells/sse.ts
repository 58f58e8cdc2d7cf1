/** The fixture over the transport of 2024-11-05: one event stream down, POSTs up. */
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import type { McpServer } from '@modelcontextprotocol/server'
import { readJson, serve } from '../../upstreams/http/serve.ts'
import { createFixture } from '../fixture/server.ts'
import { createWorld } from '../fixture/world.ts'

export async function startSseFixture(): Promise<{ url: string; close(): Promise<void> }> {
  const world = createWorld()
  const sessions = new Map<string, SSEServerTransport>()
  const served = await serve(async (request, response) => {
    if (request.method === 'GET') {
      const transport = new SSEServerTransport('/messages', response)
      sessions.set(transport.sessionId, transport)
      response.on('close', () => sessions.delete(transport.sessionId))
      // SDK 2.x has no transport for it; that of 1.x has the same interface
      return createFixture(world, true).connect(transport as unknown as Parameters<McpServer['connect']>[0])
    }
    const id = new URL(request.url ?? '', 'http://localhost').searchParams.get('sessionId') ?? ''
    const transport = sessions.get(id)
    if (!transport) return void response.writeHead(404).end()
    await transport.handlePostMessage(request, response, await readJson(request))
  })
  return { url: `${served.origin}/sse`, close: served.close }
}
