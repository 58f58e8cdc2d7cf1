/** One server as it is, at /servers/<name>/mcp: its lists from the catalog, its answers untouched. */
import type { RouterServer } from '../../core/catalog/router-config.ts'
import { Fault } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { McpReply, RouteDescription } from '../../core/mcp/front/handler.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { errorReply, refuse } from './answers.ts'
import { forward } from './forward.ts'
import type { Work } from './meta-tool.ts'
import { pageOf } from './pages.ts'
import { invalid, notFound, refuseNatively, unanswered } from './rpc-errors.ts'
import { faultSentence, quote, stateSentence } from './sentences.ts'
import { findServer } from './targets.ts'

const PAGE_ITEMS = 500
/** Of what a server declares, what this version can pass on. */
const CAPABILITIES = ['tools', 'resources', 'prompts', 'completions']

export function describeServer(
  { catalogs, servers, config }: Catalog,
  name: string,
): RouteDescription | undefined {
  if (!config.exposeServers || !servers.has(name)) return undefined
  const catalog = catalogs.get(name)
  const declared = CAPABILITIES.filter(capability => catalog?.capabilities[capability] !== undefined)
  return {
    capabilities: Object.fromEntries((catalog ? declared : ['tools']).map(capability => [capability, {}])),
    serverInfo: catalog?.serverInfo ?? { name, version: '0' },
    instructions: catalog?.instructions,
  }
}

export function handleServer(work: Work, name: string): McpReply | Promise<McpReply> {
  const { catalog, request } = work
  if (!catalog.config.exposeServers) return notFound('Servers are not exposed one by one at this gateway.')
  const server = findServer(catalog, name)
  if ('refusal' in server) return refuseNatively(work, server)
  switch (request.method) {
    case 'tools/list':
    case 'resources/list':
    case 'resources/templates/list':
    case 'prompts/list':
      return list(work, server, request.method)
    case 'tools/call':
      return callTool(work, server)
    case 'resources/read':
    case 'prompts/get':
    case 'completion/complete':
      return passOn(work, server)
    default:
      return notFound(`Method ${quote(request.method)} is not served here.`)
  }
}

function list(work: Work, server: RouterServer, method: string): McpReply {
  const { catalog, request, observer } = work
  const known = catalog.catalogs.get(server.name)
  if (!known) return refuseNatively(work, { refusal: stateSentence(server), outcome: 'unavailable', server })
  const part = catalog.parts.find(({ server: name }) => name === server.name)
  switch (method) {
    case 'tools/list':
      if (request.params.cursor === undefined) {
        observer.tokensDirect('server', part?.tokens ?? 0)
        observer.tokensServed('server', 'definitions', part?.tokens ?? 0)
      }
      return paged(request.params.cursor, 'tools', part?.tools.map(tool => tool.definition) ?? [], 'name')
    case 'resources/list':
      return paged(request.params.cursor, 'resources', known.resources, 'uri')
    case 'resources/templates/list':
      return paged(request.params.cursor, 'resourceTemplates', known.resourceTemplates, 'uriTemplate')
    default:
      return paged(request.params.cursor, 'prompts', known.prompts, 'name')
  }
}

function paged(cursor: unknown, field: string, items: readonly JsonObject[], key: string): McpReply {
  const keyOf = (item: JsonObject): string => String(item[key])
  const sorted = items.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  const page = pageOf(sorted, keyOf, cursor, (_item, count) => count < PAGE_ITEMS)
  return page
    ? { result: { [field]: page.items, nextCursor: page.nextCursor } }
    : invalid('cursor is not valid')
}

async function callTool(work: Work, server: RouterServer): Promise<McpReply> {
  const { params, method } = work.request
  const tool = work.catalog.toolByName.get(`${server.name}:${params.name}`)?.tool
  if (tool === undefined)
    return work.catalog.catalogs.has(server.name)
      ? refuseNatively(work, {
          refusal: `Unknown tool: ${quote(String(params.name))}`,
          outcome: 'rejected',
          server,
        })
      : refuse(work, { refusal: stateSentence(server), outcome: 'unavailable', server })
  const answer = await forward(work, { server, method, params, tool })
  return answer instanceof Fault ? errorReply(work, faultSentence(answer, server)) : answer
}

async function passOn(work: Work, server: RouterServer): Promise<McpReply> {
  const { params, method } = work.request
  const answer = await forward(work, { server, method, params })
  return answer instanceof Fault ? unanswered(answer, server) : answer
}
