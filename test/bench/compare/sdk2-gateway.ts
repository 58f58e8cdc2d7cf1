/** A typical gateway with SDK 2.x: `createMcpHandler`, and one client for the upstream. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import { serve } from '../../upstreams/http/serve.ts'

const INFO = { name: 'sdk2-gateway', version: '1.0.0' }
const client = new Client(INFO)
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2] ?? '')))

const handler = createMcpHandler(() => {
  const server = new Server(INFO, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', () => client.listTools())
  server.setRequestHandler('tools/call', ({ params }) => client.callTool(params))
  return server
})
const node = toNodeHandler(handler)
const { port } = await serve((request, response) => node(request, response))
process.stdout.write(`${JSON.stringify({ port })}\n`)
// The parent process holds the other end of stdin, so this process ends when the parent does.
process.stdin.resume().on('end', () => process.exit())
