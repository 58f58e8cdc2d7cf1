/** One server's share of the catalog: what it offers under the names that agents use. Independent of its state. Pure. */
import { exposedUri, listedNames, resourcePath, toolPath } from '../../core/catalog/names.ts'
import { applyOverride, isAllowed } from '../../core/catalog/policy.ts'
import type { RouterServer } from '../../core/catalog/router-config.ts'
import type { CatalogTool, ServerCatalog, ToolDefinition } from '../../core/catalog/server-catalog.ts'
import type { JsonObject } from '../../core/json.ts'
import { estimateTokens } from './estimate.ts'
import type { SearchDocument } from './search/search-index.ts'

const TOOLS_A_SLICE = 50

/** Where a tool path or listed name leads. */
export type ToolRoute = {
  server: string
  /** The upstream's own name. */
  tool: string
  /** `server:tool` */
  path: string
  /** `server__tool`, shortened where it must be */
  listedName: string
  /** The upstream's definition, with the manifest's overrides. */
  definition: ToolDefinition
  tokens: number
  descriptionTokens: number
  schemaTokens: number
}

export type PromptRoute = {
  server: string
  prompt: string
  path: string
  listedName: string
  definition: JsonObject
}

/** A resource, or a template: then `uri` is the upstream's uriTemplate. */
export type ResourceRoute = {
  server: string
  uri: string
  /** As meta-tools print it: `server|uri`. */
  shownUri: string
  /** As native lists print it: `server+uri`. */
  listedUri: string
  definition: JsonObject
}

export type ServerPart = {
  /** Equal keys, equal parts. */
  key: string
  server: string
  tools: readonly ToolRoute[]
  /** What the search finds, aligned with `tools`. */
  documents: readonly SearchDocument[]
  prompts: readonly PromptRoute[]
  resources: readonly ResourceRoute[]
  templates: readonly ResourceRoute[]
  /** Tokens of all its tools, listed directly. */
  tokens: number
}

/** Everything a part is made of besides the server catalog itself, as text. */
export function partKey(server: RouterServer, catalog: ServerCatalog): string {
  const { name, title, description, category, keywords, tools } = server
  return JSON.stringify([catalog.digest, name, title, description, category, keywords, tools])
}

/** Builds a part; yields every 50 tools. */
export function* buildServerPart(server: RouterServer, catalog: ServerCatalog): Generator<void, ServerPart> {
  const names = namesOf(
    server.name,
    catalog.tools.map(({ definition }) => definition.name),
  )
  const tools: ToolRoute[] = []
  const documents: SearchDocument[] = []
  for (const [position, tool] of catalog.tools.entries()) {
    if (position % TOOLS_A_SLICE === TOOLS_A_SLICE - 1) yield
    if (!isAllowed(server.tools, tool.definition.name)) continue
    const route = toolRoute(server, tool, names)
    tools.push(route)
    documents.push(documentOf(server, route))
  }
  return {
    key: partKey(server, catalog),
    server: server.name,
    tools,
    documents,
    prompts: promptRoutes(server.name, catalog.prompts),
    resources: resourceRoutes(server.name, catalog.resources, 'uri'),
    templates: resourceRoutes(server.name, catalog.resourceTemplates, 'uriTemplate'),
    tokens: tools.reduce((sum, tool) => sum + tool.tokens, 0),
  }
}

type NameOf = (own: string) => { path: string; listedName: string }

function toolRoute(
  server: RouterServer,
  { definition: own, ...counts }: CatalogTool,
  nameOf: NameOf,
): ToolRoute {
  const definition = applyOverride(server.tools, own)
  const route = { server: server.name, tool: own.name, ...nameOf(own.name), definition, ...counts }
  if (definition === own) return route
  const descriptionTokens =
    server.tools.overrides[own.name]?.descriptionTokens ?? estimateTokens(definition.description ?? '')
  return { ...route, descriptionTokens, tokens: counts.tokens - counts.descriptionTokens + descriptionTokens }
}

/** The names of a server's tools or prompts in both forms. */
function namesOf(server: string, own: readonly string[]): NameOf {
  const listed = listedNames(own.map(tool => ({ server, tool })))
  return name => {
    const path = toolPath(server, name)
    return { path, listedName: listed.get(path) ?? path }
  }
}

function promptRoutes(server: string, definitions: readonly JsonObject[]): PromptRoute[] {
  const named = definitions.filter(
    (definition): definition is JsonObject & { name: string } => typeof definition.name === 'string',
  )
  const nameOf = namesOf(
    server,
    named.map(({ name }) => name),
  )
  return named.map(definition => ({
    server,
    prompt: definition.name,
    ...nameOf(definition.name),
    definition,
  }))
}

function resourceRoutes(
  server: string,
  definitions: readonly JsonObject[],
  field: 'uri' | 'uriTemplate',
): ResourceRoute[] {
  return definitions.flatMap(definition => {
    const uri = definition[field]
    if (typeof uri !== 'string') return []
    return [{ server, uri, shownUri: shownUri(server, uri), listedUri: exposedUri(server, uri), definition }]
  })
}

/** What meta-tools print: `server|uri`, but `ui://<server>/…` for an app's page, since clients look for that scheme. */
function shownUri(server: string, uri: string): string {
  return uri.startsWith('ui://') ? exposedUri(server, uri) : resourcePath(server, uri)
}

function documentOf(server: RouterServer, route: ToolRoute): SearchDocument {
  const override = Object.hasOwn(server.tools.overrides, route.tool)
    ? server.tools.overrides[route.tool]
    : undefined
  const categories = [override?.category ?? server.category].filter(category => category !== undefined)
  const { title, description, inputSchema } = route.definition
  return {
    server: server.name,
    serverTitle: server.title,
    serverDescription: server.description,
    tool: route.tool,
    title: typeof title === 'string' ? title : undefined,
    description,
    inputSchema,
    keywords: [...server.keywords, ...categories, ...(override?.keywords ?? [])],
  }
}
