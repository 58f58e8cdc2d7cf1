/** A router's inside without HTTP: server catalogs, an upstream in memory for each, the real pool, catalog and handler. */

import { hash } from 'node:crypto'
import { join } from 'node:path'
import { type Clock, systemClock } from '../../core/async.ts'
import { OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import type { RouterConfig, RouterServer } from '../../core/catalog/router-config.ts'
import type { CatalogTool, ServerCatalog, ToolDefinition } from '../../core/catalog/server-catalog.ts'
import { canonicalJson, type JsonObject } from '../../core/json.ts'
import { createLog } from '../../core/log.ts'
import { type Caller, createCaller } from '../../core/mcp/caller.ts'
import type { McpResponse } from '../../core/mcp/protocol/json-rpc.ts'
import type { Clients } from '../../core/mcp/server/clients.ts'
import type { McpHandler, McpRequest, McpRoute } from '../../core/mcp/server/handler.ts'
import type { SessionListener, Subscription, Upstream, UpstreamCall } from '../../core/mcp/upstream.ts'
import { createAccess } from '../../router/access/access.ts'
import { createInternalCredentials } from '../../router/access/internal-credential.ts'
import { createLimits } from '../../router/access/limits.ts'
import { buildCatalog, type Catalog } from '../../router/catalog/catalog.ts'
import { estimateTokens } from '../../router/catalog/estimate.ts'
import { createSandboxThreads } from '../../router/code/sandbox-threads.ts'
import { createScripts, type Scripts } from '../../router/code/scripts.ts'
import { createHandler } from '../../router/meta/handler.ts'
import { createKeptResults } from '../../router/meta/results/kept-results.ts'
import type { CallRecord, RouterObserver, ScriptRecord, TokenKind } from '../../router/observer.ts'
import { createPool, type Pool } from '../../router/upstream/pool.ts'

export type Answerer = (call: UpstreamCall, signal: AbortSignal) => Promise<McpResponse> | McpResponse

export type FixtureServer = {
  server?: Partial<RouterServer>
  /** Absent: the server was never discovered. */
  offers?: Partial<Omit<ServerCatalog, 'tools'>> & { tools?: ToolDefinition[] }
  answer?: Answerer
  /** Counts tokens as discovery does; absent: estimated, which is quicker. */
  count?: (text: string) => number
}

export type Seen = {
  calls: CallRecord[]
  scripts: ScriptRecord[]
  searches: number[]
  direct: number
  served: Partial<Record<TokenKind, number>>
}

export type Fixture = {
  handler: McpHandler
  pool: Pool
  seen: Seen
  /** What reached the upstreams, in order. */
  sent: { server: string; call: UpstreamCall }[]
  /** Which resources the upstreams were asked to subscribe to, in order. */
  subscribed: { server: string; subscription: Subscription; signal: AbortSignal }[]
  /** Who gets what each upstream sends between calls. */
  ears: SessionListener[]
  /** To be closed by the test if it runs scripts or searches for them: a spare sandbox keeps the process running. */
  scripts: Scripts
  catalog(): Catalog
  /** Replaces the servers, as a reload does. */
  reload(servers: Record<string, FixtureServer>, config?: Partial<RouterConfig>): void
  request(method: string, params?: JsonObject, more?: RequestOptions): Promise<McpResponse>
  /** Calls a meta-tool (or any tool) and gives its result. */
  call(name: string, args: JsonObject, more?: RequestOptions): Promise<ToolResult>
}

export type ToolResult = {
  content: { type: string; text: string; [key: string]: unknown }[]
  isError?: boolean
  [key: string]: unknown
}

export const GATEWAY: McpRoute = { kind: 'gateway', profile: 'hierarchical' }

function scriptsOf(clock: Clock): Scripts {
  return createScripts(createSandboxThreads(clock), { clock, log: createLog({ level: 'silent' }) })
}

function keptResults(clock: Clock) {
  const key = 'of tests'
  const credentials = createInternalCredentials(key, clock)
  return createKeptResults({ key, owner: 'local', credentials, clock, log: createLog({ level: 'silent' }) })
}

export function createFixture(
  servers: Record<string, FixtureServer>,
  config: Partial<RouterConfig> = {},
  clock: Clock = systemClock,
  clients?: Clients,
): Fixture {
  let current: Record<string, FixtureServer> = {}
  let catalog: Catalog | undefined
  const sent: Fixture['sent'] = []
  const subscribed: Fixture['subscribed'] = []
  const ears: SessionListener[] = []
  const connect = ({ name }: RouterServer): Upstream => ({
    ...upstreamOf((call, signal) => {
      sent.push({ server: name, call })
      return (current[name]?.answer ?? echo)(call, signal)
    }),
    async subscribe(subscription, signal) {
      subscribed.push({ server: name, subscription, signal })
      return { result: {} }
    },
    attach: given => void ears.push(given),
  })
  const pool = createPool({ connect, clock })
  const { observer, seen } = createWitness()
  const [results, scripts] = [keptResults(clock), scriptsOf(clock)]
  const handler = createHandler({
    access: createAccess(),
    limits: createLimits(systemClock),
    current: () => catalog as Catalog,
    pool,
    observer,
    results,
    scripts,
    clients,
  })
  const fixture: Fixture = {
    ...{ handler, pool, scripts },
    ...{ seen, sent, subscribed, ears },
    catalog: () => catalog as Catalog,
    reload(next, changes = {}) {
      current = next
      catalog = drive(
        buildCatalog(snapshotOf(next, { ...config, ...changes }, (catalog?.generation ?? 0) + 1), catalog),
      )
      pool.update(catalog.config)
    },
    request: (method, params = {}, more = {}) => handler.handle(requestOf(method, params, more)),
    async call(name, args, more) {
      const reply = await fixture.request('tools/call', { name, arguments: args }, more)
      if (reply.error) throw new Error(`JSON-RPC error ${reply.error.code}: ${reply.error.message}`)
      return reply.result as ToolResult
    },
  }
  fixture.reload(servers)
  return fixture
}

/** Properties of the request and of its caller, in one object. */
export type RequestOptions = Partial<McpRequest & Caller>

function requestOf(method: string, params: JsonObject, more: RequestOptions): McpRequest {
  const { id = 1, route = GATEWAY, text, caller = createCaller(more) } = more
  return { id, method, params, route, caller, text }
}

/** Runs a generator to its end. */
export function drive<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

export function snapshotOf(
  servers: Record<string, FixtureServer>,
  config: Partial<RouterConfig>,
  generation: number,
) {
  const names = Object.keys(servers).sort()
  const known = names.filter(name => servers[name]?.offers)
  const catalog = (name: string) => catalogOf(name, servers[name]?.offers ?? {}, servers[name]?.count)
  return {
    generation,
    config: {
      gateway: { name: 'tools', namespace: 'default' },
      profile: 'hierarchical',
      allowedProfiles: [],
      exposeServers: true,
      access: OPEN_ACCESS,
      budget: { definitionTokens: 5000, activeTools: 10, responseTokens: 1200 },
      search: { semantic: 'auto' },
      servers: names.map(name => serverOf(name, servers[name]?.server ?? {})),
      ...config,
    } satisfies RouterConfig,
    catalogs: new Map(known.map(name => [name, catalog(name)])),
  }
}

export function serverOf(name: string, changes: Partial<RouterServer> = {}): RouterServer {
  return {
    name,
    namespace: 'default',
    keywords: [],
    transport: 'stdio',
    endpoint: { kind: 'local', id: name, revision: '1' },
    sessions: 'shared',
    tools: { allow: ['*'], deny: [], overrides: {} },
    limits: { callTimeoutMs: 60_000, startTimeoutMs: 60_000, concurrency: 16, maxResultBytes: 1_048_576 },
    logging: { requests: true, payloads: 'none' },
    status: { state: 'ready', hidden: false },
    ...changes,
  }
}

export function catalogOf(
  server: string,
  { tools = [], ...offers }: NonNullable<FixtureServer['offers']>,
  count = estimateTokens,
): ServerCatalog {
  const content = {
    server,
    protocol: '2025-11-25',
    capabilities: { tools: {}, resources: {}, prompts: {} },
    tools: tools
      .map(tool => counted(tool, count))
      .sort((a, b) => (a.definition.name < b.definition.name ? -1 : 1)),
    invalid: [],
    resources: [],
    resourceTemplates: [],
    prompts: [],
    incomplete: [],
    ...offers,
  }
  return { ...content, digest: hash('sha256', canonicalJson(content)) }
}

function counted(definition: ToolDefinition, count: (text: string) => number): CatalogTool {
  const { name, description, inputSchema } = definition
  return {
    definition,
    tokens: count(JSON.stringify({ name, description, inputSchema })),
    descriptionTokens: count(description ?? ''),
    schemaTokens: count(JSON.stringify(inputSchema)),
  }
}

/** The path of a golden file of these tests. */
export function golden(name: string): string {
  return join(import.meta.dirname, '..', 'golden', 'meta', name)
}

/** Answers with what it was asked. */
export const echo: Answerer = ({ method, params }) => ({
  result: { content: [{ type: 'text', text: JSON.stringify({ method, params }) }] },
})

/** An upstream in memory, whose requests end when their signal aborts, as those of any upstream. */
export function upstreamOf(answer: Answerer): Upstream {
  return {
    connect: async () => ({ protocolVersion: '2025-11-25', capabilities: {} }),
    request: async (call, signal) => {
      const { promise: aborted, reject } = Promise.withResolvers<never>()
      const onAbort = (): void => reject(signal.reason)
      signal.addEventListener('abort', onAbort)
      try {
        return await Promise.race([answer(call, signal), aborted])
      } finally {
        signal.removeEventListener('abort', onAbort)
      }
    },
    onEvent: () => () => {},
    close: async () => {},
  }
}

/** An observer, and what it has seen. */
export function createWitness(): { observer: RouterObserver; seen: Seen } {
  const seen: Seen = { calls: [], scripts: [], searches: [], direct: 0, served: {} }
  return {
    seen,
    observer: {
      called: record => void seen.calls.push(record),
      searched: (_durationMs, hits) => void seen.searches.push(hits),
      scriptBegan: () => {},
      scriptRan: record => void seen.scripts.push(record),
      missed: () => {},
      tokensDirect: (_route, tokens) => {
        seen.direct += tokens
      },
      tokensServed: (_route, kind, tokens) => {
        seen.served[kind] = (seen.served[kind] ?? 0) + tokens
      },
    },
  }
}
