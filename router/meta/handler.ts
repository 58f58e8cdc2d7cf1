/** Answers every request of a router: meta-tools and native lists on gateway routes, single servers on their own. */
import type { Profile } from '../../core/catalog/router-config.ts'
import { isObject } from '../../core/json.ts'
import type { McpHandler, McpReply, McpRoute, RouteDescription } from '../../core/mcp/front/handler.ts'
import packageJson from '../../package.json' with { type: 'json' }
import type { Catalog } from '../catalog/catalog.ts'
import type { RouterObserver } from '../observer.ts'
import type { Pool } from '../upstream/pool.ts'
import { refuse } from './answers.ts'
import { createSchemaChecks } from './arguments/schema-checks.ts'
import { callTool } from './call-tool.ts'
import { instructionsOf } from './instructions.ts'
import type { ListChanges } from './list-changes.ts'
import { profileOf, type QueryEncoder, type Work } from './meta-tool.ts'
import { completeNatively, getPromptNatively, listNatively, readNatively } from './native.ts'
import type { ProfileTools } from './profile.ts'
import { PROFILES } from './profiles.ts'
import { createActivatedSets } from './registry/activated.ts'
import type { KeptResults } from './results/kept-results.ts'
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
  /** Keeps what is cut out of results; absent: it is lost, and the answers say so. */
  results?: KeptResults
  /** Tells clients whose tools are listed directly when those change; absent: nobody is told. */
  changes?: ListChanges
}

export function createHandler({ current, changes, ...means }: HandlerOptions): McpHandler {
  const { pool } = means
  const activated = createActivatedSets()
  const schemas = createSchemaChecks()
  return {
    async handle(request) {
      const arrivedMs = performance.now()
      const work: Work = { ...means, request, catalog: current(), activated, schemas, arrivedMs }
      const { route } = request
      if (route.kind === 'server') return handleServer(work, route.server)
      if (route.profile === 'direct') changes?.notice(request, work.catalog)
      return handleGateway(work, route.profile)
    },
    forget(client) {
      pool.forget(client)
      activated.forget(client)
      changes?.forget(client)
    },
    // What a session of the registry profile activates is told with the answer, and there are no others.
    listen:
      changes && (async listening => (isDirect(listening.route) ? changes.listen(listening) : undefined)),
    describe(route) {
      const catalog = current()
      return route.kind === 'server'
        ? describeServer(catalog, route.server)
        : describeGateway(catalog, route.profile, changes !== undefined)
    },
    inputSchema(route, tool) {
      const name = route.kind === 'server' ? `${route.server}:${tool}` : isDirect(route) ? tool : undefined
      return name === undefined ? undefined : current().toolByName.get(name)?.definition.inputSchema
    },
  }
}

function isDirect(route: McpRoute): boolean {
  return route.kind === 'gateway' && route.profile === 'direct'
}

function describeGateway(catalog: Catalog, name: Profile, tells: boolean): RouteDescription | undefined {
  if (!isServed(catalog, name)) return undefined
  const { usage } = PROFILES[name]
  const listChanged = name === 'registry' || (name === 'direct' && tells)
  return {
    capabilities: { tools: listChanged ? { listChanged } : {}, resources: {}, prompts: {}, completions: {} },
    serverInfo: { name: 'portolan', version: packageJson.version },
    instructions: instructionsOf(catalog, usage),
  }
}

function isServed({ config }: Catalog, profile: Profile): boolean {
  return profile === config.profile || config.allowedProfiles.includes(profile)
}

function handleGateway(work: Work, name: Profile): McpReply | Promise<McpReply> {
  if (!isServed(work.catalog, name)) return notFound(`Profile ${name} is not allowed at this gateway.`)
  const profile = PROFILES[name]
  switch (work.request.method) {
    case 'tools/call':
      return call(work, profile)
    case 'tools/list':
      return profile.list(work)
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

/** A meta-tool by its name, or any tool by its path or listed name. */
function call(work: Work, profile: ProfileTools): McpReply | Promise<McpReply> {
  const { name, arguments: args = {} } = work.request.params
  if (typeof name !== 'string') return invalid('name is missing')
  if (!isObject(args)) return invalid('arguments is no object')
  const metaTool = profile.tools.get(name)
  if (metaTool) return metaTool.call(work, args)
  const target = findTarget(work.catalog, name, profileOf(work))
  if ('refusal' in target) return refuse(work, target)
  if ('prompt' in target) return invalid(`${name} is a prompt`)
  work.activated.touch(work.request.client, target.tool.path)
  return callTool(work, target, args, work.request.params)
}
