/** Answers every request of a router: meta-tools and native lists on gateway routes, single servers on their own. */
import type { Profile } from '../../core/catalog/router-config.ts'
import { isObject } from '../../core/json.ts'
import type { McpHandler, McpReply, RouteDescription } from '../../core/mcp/front/handler.ts'
import packageJson from '../../package.json' with { type: 'json' }
import type { Catalog } from '../catalog/catalog.ts'
import type { RouterObserver } from '../observer.ts'
import type { Pool } from '../upstream/pool.ts'
import { refuse } from './answers.ts'
import { callTool } from './call-tool.ts'
import { instructionsOf } from './instructions.ts'
import { type QueryEncoder, tokenRoute, type Work } from './meta-tool.ts'
import { completeNatively, getPromptNatively, listNatively, readNatively } from './native.ts'
import { PROFILES, type ProfileTools } from './profiles.ts'
import { invalid, notFound } from './rpc-errors.ts'
import { quote } from './sentences.ts'
import { describeServer, handleServer } from './server-route.ts'
import { findTarget } from './targets.ts'

export type HandlerOptions = {
  /** The catalog of the moment; each request keeps the one it began with. */
  current: () => Catalog
  pool: Pool
  observer: RouterObserver
  encodeQuery?: QueryEncoder
}

export function createHandler({ current, pool, observer, encodeQuery }: HandlerOptions): McpHandler {
  const instructions = new WeakMap<Catalog, string>()
  const instruct = (catalog: Catalog): string => {
    const made = instructions.get(catalog) ?? instructionsOf(catalog)
    instructions.set(catalog, made)
    return made
  }
  return {
    async handle(request) {
      const arrivedMs = performance.now()
      const work: Work = { request, catalog: current(), pool, observer, encodeQuery, arrivedMs }
      const { route } = request
      return route.kind === 'server' ? handleServer(work, route.server) : handleGateway(work, route.profile)
    },
    forget: client => pool.forget(client),
    describe(route) {
      const catalog = current()
      return route.kind === 'server'
        ? describeServer(catalog, route.server)
        : describeGateway(catalog, route.profile, instruct)
    },
    inputSchema: (route, tool) =>
      route.kind === 'server'
        ? current().toolByName.get(`${route.server}:${tool}`)?.definition.inputSchema
        : undefined,
  }
}

function describeGateway(
  catalog: Catalog,
  profile: Profile,
  instruct: (catalog: Catalog) => string,
): RouteDescription | undefined {
  if (!PROFILES[profile] || !isServed(catalog, profile)) return undefined
  return {
    capabilities: { tools: {}, resources: {}, prompts: {}, completions: {} },
    serverInfo: { name: 'portolan', version: packageJson.version },
    instructions: instruct(catalog),
  }
}

function isServed({ config }: Catalog, profile: Profile): boolean {
  return profile === config.profile || config.allowedProfiles.includes(profile)
}

function handleGateway(work: Work, name: Profile): McpReply | Promise<McpReply> {
  const profile = PROFILES[name]
  if (!isServed(work.catalog, name)) return notFound(`Profile ${name} is not allowed at this gateway.`)
  if (!profile) return notFound(`Profile ${name} is not available in this version; use hierarchical.`)
  switch (work.request.method) {
    case 'tools/call':
      return call(work, profile)
    case 'tools/list':
      return listTools(work, profile)
    case 'resources/list':
      return listNatively(work, 'resources')
    case 'resources/templates/list':
      return listNatively(work, 'resourceTemplates')
    case 'resources/read':
      return readNatively(work)
    case 'prompts/list':
      return listNatively(work, 'prompts')
    case 'prompts/get':
      return getPromptNatively(work)
    case 'completion/complete':
      return completeNatively(work)
    default:
      return notFound(`Method ${quote(work.request.method)} is not served here.`)
  }
}

function listTools(work: Work, { tools, definitionTokens }: ProfileTools): McpReply {
  const { catalog, observer } = work
  observer.tokensDirect(tokenRoute(work), catalog.totals.tokens)
  observer.tokensServed(tokenRoute(work), 'definitions', definitionTokens)
  return { result: { tools: tools.map(tool => tool.definition) } }
}

/** A meta-tool by its name, or any tool by its path or listed name. */
function call(work: Work, profile: ProfileTools): McpReply | Promise<McpReply> {
  const { name, arguments: args = {} } = work.request.params
  if (typeof name !== 'string') return invalid('name is missing')
  if (!isObject(args)) return invalid('arguments is no object')
  const metaTool = profile.tools.find(tool => tool.definition.name === name)
  if (metaTool) return metaTool.call(work, args)
  const target = findTarget(work.catalog, name)
  if ('refusal' in target) return refuse(work, target)
  return 'tool' in target ? callTool(work, target, args, work.request.params) : invalid(`${name} is a prompt`)
}
