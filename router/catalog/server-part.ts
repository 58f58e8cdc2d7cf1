/** One server's part of the catalog: what it offers under the names that agents use. Independent of the server's state. Pure. */
import { exposedUri, listedNames, resourcePath, toolPath } from '../../core/catalog/names.ts'
import { applyOverride, isAllowed } from '../../core/catalog/policy.ts'
import type { RouterServer } from '../../core/catalog/router-config.ts'
import { itemSearchText, toolSearchText } from '../../core/catalog/search-text.ts'
import type {
  CatalogTool,
  HeldTool,
  PromptDefinition,
  ResourceDefinition,
  ServerCatalog,
  TemplateDefinition,
  ToolDefinition,
} from '../../core/catalog/server-catalog.ts'
import { type ParamHeader, paramHeadersOf } from '../../core/mcp/protocol/param-headers.ts'
import { estimateTokens } from './estimate.ts'
import { itemDocument, toolDocument } from './search/documents.ts'
import type { SearchDocument } from './search/search-index.ts'

const ITEMS_PER_SLICE = 50

/** The target of a tool path or listed name. */
export type ToolRoute = {
  server: string
  /** Its name at the upstream. */
  tool: string
  /** `server:tool` */
  path: string
  /** `server__tool`, shortened if necessary */
  listedName: string
  /** The upstream's definition, with the manifest's overrides. */
  definition: ToolDefinition
  tokens: number
  descriptionTokens: number
  schemaTokens: number
  /** Arguments that the upstream requires in headers too. */
  paramHeaders: readonly ParamHeader[]
  /** Key of the text that the tool is found by: see search-text.ts. */
  textKey: string
}

/** A tool that agents do not see until its change is approved; calls of it are refused. */
export type HeldRoute = Pick<ToolRoute, 'server' | 'tool' | 'path' | 'listedName' | 'definition'> &
  Pick<HeldTool, 'change'>

export type PromptRoute = {
  server: string
  prompt: string
  path: string
  listedName: string
  definition: PromptDefinition
  textKey: string
  document: SearchDocument
}

/** A resource, or a template: then `uri` is the upstream's uriTemplate. */
export type ResourceRoute = {
  server: string
  uri: string
  /** The form in meta-tools' answers: `server|uri`. */
  shownUri: string
  /** The form in native lists: `server+uri`. */
  listedUri: string
  definition: ResourceDefinition | TemplateDefinition
  textKey: string
  document: SearchDocument
}

export type ServerPart = {
  /** Parts with equal keys are equal. */
  key: string
  server: string
  tools: readonly ToolRoute[]
  /** The documents of the search index, aligned with `tools`. */
  documents: readonly SearchDocument[]
  held: readonly HeldRoute[]
  prompts: readonly PromptRoute[]
  resources: readonly ResourceRoute[]
  templates: readonly ResourceRoute[]
  /** Tokens of listing all its tools directly. */
  tokens: number
}

/** Everything that a part is built from, as text; the server catalog by its digest. */
export function partKey(server: RouterServer, catalog: ServerCatalog): string {
  const { name, title, description, category, keywords, tools } = server
  return JSON.stringify([catalog.digest, name, title, description, category, keywords, tools])
}

/** Builds a part; yields every 50 tools, prompts, resources or templates. */
export function* buildServerPart(server: RouterServer, catalog: ServerCatalog): Generator<void, ServerPart> {
  const names = namesOf(
    server.name,
    catalog.tools.map(({ definition }) => definition.name),
  )
  const tools: ToolRoute[] = []
  const documents: SearchDocument[] = []
  for (const [position, tool] of catalog.tools.entries()) {
    if (position % ITEMS_PER_SLICE === ITEMS_PER_SLICE - 1) yield
    if (!isAllowed(server.tools, tool.definition.name)) continue
    const route = toolRoute(server, catalog, tool, names)
    tools.push(route)
    documents.push(toolDocument(server, catalog, route.definition))
  }
  return {
    key: partKey(server, catalog),
    server: server.name,
    tools,
    documents,
    held: heldRoutes(server, catalog),
    prompts: yield* promptRoutes(server, catalog),
    resources: yield* resourceRoutes(server, catalog, 'resource'),
    templates: yield* resourceRoutes(server, catalog, 'template'),
    tokens: tools.reduce((sum, tool) => sum + tool.tokens, 0),
  }
}

type NameOf = (name: string) => { path: string; listedName: string }

function toolRoute(
  server: RouterServer,
  catalog: ServerCatalog,
  { definition: original, ...counts }: CatalogTool,
  nameOf: NameOf,
): ToolRoute {
  const definition = applyOverride(server.tools, original)
  const textKey = toolSearchText(server, catalog, definition).key
  const paramHeaders = paramHeadersOf(definition.inputSchema)
  const names = nameOf(original.name)
  const route = {
    server: server.name,
    tool: original.name,
    ...names,
    definition,
    ...counts,
    paramHeaders,
    textKey,
  }
  if (definition === original) return route
  const descriptionTokens =
    server.tools.overrides[original.name]?.descriptionTokens ?? estimateTokens(definition.description ?? '')
  return { ...route, descriptionTokens, tokens: counts.tokens - counts.descriptionTokens + descriptionTokens }
}

function heldRoutes(server: RouterServer, { held }: ServerCatalog): HeldRoute[] {
  const tools = (held?.tools ?? []).filter(({ definition }) => isAllowed(server.tools, definition.name))
  const nameOf = namesOf(
    server.name,
    tools.map(({ definition }) => definition.name),
  )
  return tools.map(({ definition, change }) => {
    const { name } = definition
    return { server: server.name, tool: name, ...nameOf(name), definition, change }
  })
}

/** The names of a server's tools or prompts in both forms. */
function namesOf(server: string, names: readonly string[]): NameOf {
  const listed = listedNames(names.map(tool => ({ server, tool })))
  return name => {
    const path = toolPath(server, name)
    return { path, listedName: listed.get(path) ?? path }
  }
}

function* promptRoutes(server: RouterServer, catalog: ServerCatalog): Generator<void, PromptRoute[]> {
  const nameOf = namesOf(
    server.name,
    catalog.prompts.map(({ name }) => name),
  )
  const routes: PromptRoute[] = []
  for (const definition of catalog.prompts) {
    if (routes.length % ITEMS_PER_SLICE === ITEMS_PER_SLICE - 1) yield
    const { name } = definition
    const found = foundBy(server, catalog, 'prompt', definition)
    routes.push({ server: server.name, prompt: name, ...nameOf(name), definition, ...found })
  }
  return routes
}

function* resourceRoutes(
  server: RouterServer,
  catalog: ServerCatalog,
  kind: 'resource' | 'template',
): Generator<void, ResourceRoute[]> {
  const offered =
    kind === 'resource'
      ? catalog.resources.map(definition => ({ uri: definition.uri, definition }))
      : catalog.resourceTemplates.map(definition => ({ uri: definition.uriTemplate, definition }))
  const routes: ResourceRoute[] = []
  for (const { uri, definition } of offered) {
    if (routes.length % ITEMS_PER_SLICE === ITEMS_PER_SLICE - 1) yield
    const uris = { uri, shownUri: shownUri(server.name, uri), listedUri: exposedUri(server.name, uri) }
    routes.push({ server: server.name, ...uris, definition, ...foundBy(server, catalog, kind, definition) })
  }
  return routes
}

/** The search document of a resource, a template or a prompt, and the key of its text's vector. */
function foundBy(
  server: RouterServer,
  catalog: ServerCatalog,
  kind: NonNullable<SearchDocument['kind']>,
  definition: PromptRoute['definition'] | ResourceRoute['definition'],
): Pick<PromptRoute, 'textKey' | 'document'> {
  return {
    textKey: itemSearchText(server, catalog, definition).key,
    document: itemDocument(server, catalog, kind, definition),
  }
}

/** The form in meta-tools' answers: `server|uri`, but `ui://<server>/…` for an app's page because clients look for that scheme. */
function shownUri(server: string, uri: string): string {
  return uri.startsWith('ui://') ? exposedUri(server, uri) : resourcePath(server, uri)
}
