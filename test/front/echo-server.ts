/** A real HTTP server of the front with a small handler behind it, for tests of the front. */

import type { Writable } from 'node:stream'
import type { TestContext } from 'node:test'
import { type Clock, systemClock } from '../../core/async.ts'
import { OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import type { JsonObject } from '../../core/json.ts'
import { createLog } from '../../core/log.ts'
import type { McpResponse } from '../../core/mcp/protocol/json-rpc.ts'
import type { McpHandler, McpRequest, McpRoute } from '../../core/mcp/server/handler.ts'
import { createSessions } from '../../core/mcp/server/session-ids.ts'
import { type ServeOptions, serve } from '../../router/http/serve.ts'

export type EchoServer = {
  url: string
  origin: string
  /** Requests as the handler saw them, oldest first. */
  seen: McpRequest[]
  /** Clients that ended their sessions. */
  forgotten: string[]
  /** Resolves with the next request for `tool`. */
  called(tool: string): Promise<McpRequest>
  /** Lets a waiting call of `hold` go. */
  release(): void
  close(drainMs?: number): Promise<void>
}

export const TOOLS: JsonObject[] = [
  {
    name: 'echo',
    description: 'Gives back its text',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
  },
  { name: 'hold', description: 'Waits until released or aborted', inputSchema: { type: 'object' } },
  { name: 'progress', description: 'Reports progress, then answers', inputSchema: { type: 'object' } },
  {
    name: 'regional',
    description: 'Wants its region in a header',
    inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
  },
]

const CONFIG: RouterConfig = {
  gateway: { name: 'tools', namespace: 'default' },
  profile: 'hierarchical',
  allowedProfiles: ['search'],
  exposeServers: false,
  access: OPEN_ACCESS,
  budget: { definitionTokens: 5000, activeTools: 10, responseTokens: 1200 },
  search: { semantic: 'auto' },
  servers: [],
}

const FILLER = 'x'.repeat(1_000)

type EchoOptions = Partial<
  Pick<ServeOptions, 'host' | 'port' | 'allowedHosts' | 'ready' | 'debugStatus' | 'config'>
> & {
  sessionKey?: string
  clock?: Clock
  logTo?: Writable
}

/** Listens on a free port until the test ends. */
export async function startEchoServer(t: TestContext, options: EchoOptions = {}): Promise<EchoServer> {
  const clock = options.clock ?? systemClock
  const handler = createEchoHandler()
  const server = await serve({
    host: '127.0.0.1',
    port: 0,
    allowedHosts: [],
    config: () => CONFIG,
    ready: () => ({ ready: true }),
    metrics: async () => ({ contentType: 'text/plain', text: 'portolan_up 1\n' }),
    ...options,
    handler,
    sessions: createSessions({ key: options.sessionKey ?? 'key of the tests', owner: 'test', clock }),
    log: options.logTo ? createLog({ destination: options.logTo }) : createLog({ level: 'silent' }),
    clock,
  })
  t.after(() => server.close(0))
  const origin = `http://127.0.0.1:${server.address.port}`
  return {
    ...handler,
    url: `${origin}/mcp`,
    origin,
    close: (drainMs = 1_000) => server.close(drainMs),
  }
}

function createEchoHandler(): McpHandler & Pick<EchoServer, 'seen' | 'forgotten' | 'called' | 'release'> {
  const seen: McpRequest[] = []
  const forgotten: string[] = []
  const waiting: { tool: string; resolve: (request: McpRequest) => void }[] = []
  const held = new Set<() => void>()
  return {
    seen,
    forgotten,
    forget: client => void forgotten.push(client),
    called: tool => new Promise(resolve => waiting.push({ tool, resolve })),
    release: () => {
      for (const go of held) go()
    },
    describe: (route: McpRoute) => ({
      capabilities: { tools: {}, resources: {}, prompts: {} },
      serverInfo: { name: 'echo', version: '1.0.0' },
      instructions: route.kind === 'gateway' ? `profile ${route.profile}` : `server ${route.server}`,
    }),
    inputSchema: (_route, tool) =>
      TOOLS.find(one => one.name === tool)?.inputSchema as JsonObject | undefined,
    async handle(request) {
      seen.push(request)
      const tool = request.params.name
      for (const one of waiting.filter(({ tool: wanted }) => wanted === tool)) {
        waiting.splice(waiting.indexOf(one), 1)
        one.resolve(request)
      }
      if (request.method === 'tools/list') return { result: { tools: TOOLS } }
      if (request.method === 'resources/list') return { result: { resources: [] } }
      if (request.method === 'resources/read')
        return { error: { code: -32002, message: 'Resource not found' } }
      if (request.method === 'tools/call') return callTool(request, held)
      return { error: { code: -32601, message: 'Method not found' } }
    },
  }
}

async function callTool(
  { params, caller: { signal, notify } }: McpRequest,
  held: Set<() => void>,
): Promise<McpResponse> {
  switch (params.name) {
    case 'progress': {
      const meta = params._meta as JsonObject | undefined
      const progressToken = meta?.progressToken ?? null
      notify?.({ method: 'notifications/message', params: { level: 'info', data: 'half way' } })
      notify?.({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 2 } })
      return text('done')
    }
    case 'hold':
      await new Promise<void>(resolve => {
        held.add(resolve)
        signal.addEventListener('abort', () => resolve())
      })
      return signal.aborted ? { result: { content: [], isError: true } } : text('released')
    case 'flood':
      for (let count = 0; count < 20_000; count++) {
        notify?.({
          method: 'notifications/progress',
          params: { progressToken: 1, progress: count, message: FILLER },
        })
      }
      return text('done')
    case 'broken':
      throw new Error('a bug with a secret address http://10.0.0.7')
    case 'pretty':
      notify?.({ method: 'notifications/progress', params: { progressToken: 1, progress: 1 } })
      return { result: { content: [] }, resultText: '{\n  "content": []\n}' }
    default:
      return text(JSON.stringify(params.arguments ?? {}))
  }
}

/** With the text of the result beside it, like an upstream's answer; the spaces show that this text was passed on unchanged. */
function text(value: string): McpResponse {
  const result = { content: [{ type: 'text', text: value }] }
  return { result, resultText: `{ "content": ${JSON.stringify(result.content)} }` }
}
