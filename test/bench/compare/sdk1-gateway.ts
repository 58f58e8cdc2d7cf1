/** A typical gateway with SDK 1.x: one client for the upstream, and a stateless server and transport per request. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import {
  CallToolRequestSchema,
  CallToolResultSchema,
  ListToolsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { readJson, serve } from '../../upstreams/http/serve.ts'

const INFO = { name: 'sdk1-gateway', version: '1.0.0' }
const client = new Client(INFO)
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2] ?? '')))

const { port } = await serve(async (request, response) => {
  const server = new Server(INFO, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, () => client.listTools())
  server.setRequestHandler(CallToolRequestSchema, ({ params }) =>
    client.request({ method: 'tools/call', params }, CallToolResultSchema),
  )
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: undefined,
    enableJsonResponse: true,
  })
  response.on('close', () => void server.close())
  await server.connect(transport)
  await transport.handleRequest(request, response, await readJson(request))
})
process.stdout.write(`${JSON.stringify({ port })}\n`)
// The parent process holds the other end of stdin, so this process ends when the parent does.
process.stdin.resume().on('end', () => process.exit())
