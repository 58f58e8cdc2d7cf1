/**
 * What the suite starts as a client: a gateway whose one server is the suite's, and an SDK client behind it that uses all that is
 * listed. The last argument is the URL of the suite's server; MCP_CONFORMANCE_CONTEXT may name calls.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { JsonObject } from '../../core/json.ts'
import { startTestGateway } from '../support/local-gateway.ts'
import { createWorkspace } from '../support/manifests.ts'
import { sampleArguments } from '../support/sample-arguments.ts'

type Call = { name: string; arguments: JsonObject }

const url = process.argv.at(-1) ?? ''
const space = createWorkspace()
// a server of 2025 may ask outside of the stream of a call: only a client's own session says whose question that is
const legacy = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION !== '2026-07-28'
space.write('suite', { remote: { url }, sessions: legacy ? 'perClient' : 'shared' })
const gateway = await startTestGateway(space, { exposeServers: true })
try {
  await useAll(new URL('/servers/suite/mcp', gateway.url))
} finally {
  await gateway.close()
  space.remove()
}

async function useAll(endpoint: URL): Promise<void> {
  const client = createClient()
  await client.connect(new StreamableHTTPClientTransport(endpoint))
  const { tools, resources, prompts } = client.getServerCapabilities() ?? {}
  const listed = tools ? (await client.listTools()).tools : []
  const calls = listed.map(({ name, inputSchema }) => ({
    name,
    arguments: sampleArguments(inputSchema as JsonObject),
  }))
  await Promise.allSettled(namedCalls(calls).map(call => client.callTool(call)))
  if (resources)
    for (const { uri } of (await client.listResources()).resources) await client.readResource({ uri })
  if (prompts) for (const { name } of (await client.listPrompts()).prompts) await client.getPrompt({ name })
  await client.close()
}

/** The calls that the suite names, or else `calls`. */
function namedCalls(calls: Call[]): Call[] {
  const { toolCalls } = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}') as { toolCalls?: Call[] }
  return toolCalls ?? calls
}

/** A client that answers whatever it is asked. */
function createClient(): Client {
  const capabilities = { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} }
  const client = new Client({ name: 'conformance-driver', version: '1.0.0' }, { capabilities })
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: {} }))
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [] }))
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    role: 'assistant',
    model: 'none',
    content: { type: 'text', text: 'answered' },
  }))
  return client
}
