/** The spans of a request, of its calls to servers and of its searches, by OpenTelemetry's conventions for MCP. */
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { Fault } from '../../core/errors.ts'
import type { McpResponse } from '../../core/mcp/protocol/json-rpc.ts'
import type { McpRequest } from '../../core/mcp/server/handler.ts'
import { contextOf, type Span, type SpanAttributes, type Tracer } from '../../core/trace.ts'
import type { Forwarded } from './calling/forward.ts'
import type { FoundItems } from './finding/search-catalog.ts'
import type { Work } from './meta-tool.ts'

/** Replaces a method that MCP does not define, so that requests cannot choose span names. */
const OTHER = '_OTHER'
const METHODS: ReadonlySet<string> = new Set([
  'tools/call',
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'tasks/get',
  'tasks/list',
  'tasks/result',
  'tasks/update',
  'tasks/cancel',
])

/** Answers a request within a span, whose parent is the span in the request's trace context. */
export async function traced(
  tracer: Tracer,
  work: Work,
  answer: (work: Work) => McpResponse | Promise<McpResponse>,
): Promise<McpResponse> {
  const { request } = work
  const method = methodOf(request.method)
  const start = { name: method, kind: 'server', attributes: requestAttributes(request, method) } as const
  const span = tracer.begin(start, contextOf(request.params, request.caller.headers))
  try {
    const reply = await answer({ ...work, span })
    end(span, reply)
    return reply
  } catch (error) {
    span.end('bug')
    throw error
  }
}

function requestAttributes({ route, caller }: McpRequest, method: string): SpanAttributes {
  const { client, era, identity } = caller
  return {
    'mcp.method.name': method,
    'mcp.session.id': client,
    'enduser.id': identity.id || undefined,
    'portolan.era': era,
    'portolan.route': route.kind === 'server' ? 'server' : route.profile,
  }
}

/** The values of `network.transport`. */
const NETWORKS = { stdio: 'pipe', http: 'tcp', sse: 'tcp', script: undefined }

/** Names the span of a request that calls a meta-tool. */
export function nameMetaTool(span: Span, name: string): void {
  span.rename(`tools/call ${name}`)
  span.set({ ...toolAttributes(name), 'portolan.meta_tool': name })
}

/**
 * Begins the span of a request to a server, which must be sent with this span's context. The called server and tool are also
 * recorded on the request's span, whatever meta-tool the call came through.
 */
export function beginSent(span: Span, { request, catalog, script }: Work, sent: Forwarded): Span {
  const { server } = sent
  const known = catalog.catalogs.get(server.name)
  const name = targetOf(sent, known)
  const method = methodOf(sent.method)
  const about = (target: string): SpanAttributes =>
    sent.tool ? toolAttributes(target) : { 'gen_ai.prompt.name': target }
  // The span of a script covers many calls, so it is not renamed.
  if (script === undefined) span.set({ 'portolan.server': server.name })
  if (script === undefined && name !== undefined) {
    const path = `${server.name}:${name}`
    span.rename(`${methodOf(request.method)} ${path}`)
    span.set(about(path))
  }
  return span.begin({
    name: name === undefined ? method : `${method} ${name}`,
    kind: 'client',
    attributes: {
      'mcp.method.name': method,
      'mcp.protocol.version': known?.protocol,
      'network.transport': NETWORKS[server.transport],
      'portolan.server': server.name,
      'portolan.script': script,
      ...(name !== undefined && about(name)),
    },
  })
}

/** Runs the search of one query, including its encoding, within a span. */
export async function searched(parent: Span, find: () => Promise<FoundItems>): Promise<FoundItems> {
  const span = parent.begin({ name: 'search', kind: 'internal' })
  try {
    const found = await find()
    span.set({ 'portolan.search.found': found.total, 'portolan.search.shown': found.tools.length })
    span.end()
    return found
  } catch (error) {
    span.end(error instanceof Fault ? error.code : 'bug')
    throw error
  }
}

/** Ends the span of a request or of a call to a server. */
export function end(span: Span, answer: McpResponse | Fault): void {
  if (answer instanceof Fault) span.end(answer.code)
  else if (answer.error) {
    const code = String(answer.error.code)
    span.set({ 'rpc.response.status_code': code })
    span.end(code)
  } else span.end(answer.result.isError === true ? 'tool_error' : undefined)
}

/** The called tool or prompt. Undefined unless the server's lists have it, so that requests cannot choose span names. */
function targetOf({ tool, method, params }: Forwarded, known: ServerCatalog | undefined): string | undefined {
  if (tool || method !== 'prompts/get') return tool?.tool
  const { name } = params
  return typeof name === 'string' && known?.prompts.some(prompt => prompt.name === name) ? name : undefined
}

function toolAttributes(name: string): SpanAttributes {
  return { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name }
}

function methodOf(method: string): string {
  return METHODS.has(method) ? method : OTHER
}
