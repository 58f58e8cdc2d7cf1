/** A server of SDK 1.x over HTTP whose lists depend on who asks, by the header Authorization; for tests of `discovery.perUser`. */
import { randomUUID } from 'node:crypto'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { z } from 'zod'
import { readJson, serve } from '../http/serve.ts'

export type OwnListsServer = {
  url: string
  /** Methods of the requests, each with the name of who asked: `ada tools/list`. */
  requests: string[]
  /** Adds a tool for one user, whose sessions get a list_changed notification. */
  add(who: string, tool: string): void
  /** Requests of this user for lists are answered with HTTP 500, or not at all, until `mend`. */
  break(who: string, how: 'fails' | 'hangs'): void
  mend(who: string): void
  close(): Promise<void>
}

type Session = { who: string; server: McpServer; transport: StreamableHTTPServerTransport }

const DESCRIPTIONS: Record<string, string> = {
  weather: 'Tells the weather of a city',
  payroll: 'Lists the salaries of all employees of the company',
  ledger: 'Shows the bookings of an account in the ledger',
  deploy: 'Deploys a release to production',
}

/** `offers`: tools by the bearer token; those of '' for all others. */
export async function startOwnLists(offers: Record<string, string[]>): Promise<OwnListsServer> {
  const sessions = new Map<string, Session>()
  const requests: string[] = []
  const broken = new Map<string, 'fails' | 'hangs'>()
  const served = await serve(async (request, response) => {
    const who = (request.headers.authorization ?? '').replace('Bearer ', '')
    const body = request.method === 'POST' ? await readJson(request) : undefined
    const { method = request.method ?? '' } = (body ?? {}) as { method?: string }
    requests.push(`${who} ${method}`)
    const how = method.endsWith('/list') ? broken.get(who) : undefined
    if (how === 'hangs') return
    if (how === 'fails') return void response.writeHead(500).end()
    const id = request.headers['mcp-session-id']
    const known = typeof id === 'string' ? sessions.get(id) : undefined
    if (known) return known.transport.handleRequest(request, response, body)
    if (id !== undefined) return void response.writeHead(404).end()
    const server = serverFor(who, offers[who] ?? offers[''] ?? [])
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: session => void sessions.set(session, { who, server, transport }),
    })
    await server.connect(transport)
    await transport.handleRequest(request, response, body)
  })
  return {
    url: `${served.origin}/mcp`,
    requests,
    add(who, tool) {
      offers[who] = [...(offers[who] ?? offers[''] ?? []), tool]
      for (const session of sessions.values()) if (session.who === who) addTool(session.server, who, tool)
    },
    break: (who, how) => void broken.set(who, how),
    mend: who => void broken.delete(who),
    async close() {
      await Promise.all([...sessions.values()].map(({ transport }) => transport.close()))
      await served.close()
    },
  }
}

function serverFor(who: string, tools: readonly string[]): McpServer {
  const server = new McpServer({ name: 'own', version: '1.0.0' })
  for (const tool of tools) addTool(server, who, tool)
  server.registerResource('handbook', `book://${who || 'all'}`, {}, uri => ({
    contents: [{ uri: uri.href, text: `the handbook of ${who || 'all'}` }],
  }))
  return server
}

function addTool(server: McpServer, who: string, tool: string): void {
  const definition = { description: DESCRIPTIONS[tool] ?? tool, inputSchema: { [`${tool}_of`]: z.string() } }
  server.registerTool(tool, definition, args => ({
    content: [{ type: 'text', text: `${tool} for ${who}: ${JSON.stringify(args)}` }],
  }))
}
