/** A real server of SDK 2.x over HTTP, which serves both eras without sessions. */
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { serve } from './serve.ts'

export async function startSdk2(): Promise<{ url: string; close(): Promise<void> }> {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'sdk2', version: '2.0.0' }, { instructions: 'A server of SDK 2.x' })
    server.registerTool(
      'echo',
      { description: 'Echoes', inputSchema: z.object({ text: z.string() }) },
      args => ({
        content: [{ type: 'text', text: args.text }],
      }),
    )
    server.registerResource('note', 'text://note', { mimeType: 'text/plain' }, uri => ({
      contents: [{ uri: uri.href, text: 'a note' }],
    }))
    return server
  })
  const node = toNodeHandler(handler)
  const served = await serve((request, response) => node(request, response))
  return { url: `${served.origin}/mcp`, close: served.close }
}
