/** Everything a router serves at one moment: routes, search indexes and states. Immutable and swapped as a whole. Pure. */
import { isForApps } from '../../core/catalog/for-apps.ts'
import type { RouterConfig, RouterServer } from '../../core/catalog/router-config.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import type { JsonObject } from '../../core/json.ts'
import type { View } from '../access/view.ts'
import type { Snapshot } from '../source/source.ts'
import { buildIndex, type LexicalIndex } from './search/build.ts'
import type { VectorTable } from './search/search-index.ts'
import {
  buildServerPart,
  type HeldRoute,
  type PromptRoute,
  partKey,
  type ResourceRoute,
  type ServerPart,
  type ToolRoute,
} from './server-part.ts'

/** What is offered, independent of the servers' states: rebuilt only if a list or its policy changed. */
type Offer = Routes & {
  /** Its ids are positions in `tools`. */
  readonly index: LexicalIndex
  /** Over `extras`: resources, then templates, then prompts. */
  readonly extraIndex: LexicalIndex
}

/** A read-only look-up by name. */
export type Lookup<V> = Pick<ReadonlyMap<string, V>, 'get' | 'has'>

/** Everything offered, by the names that callers use. */
export type Routes = {
  parts: readonly ServerPart[]
  tools: readonly ToolRoute[]
  /** By tool path and by listed name. */
  toolByName: Lookup<ToolRoute>
  /** By the upstream's own name, which several servers may share. */
  toolsByOwnName: Lookup<readonly ToolRoute[]>
  /** Tools that are kept from agents, by tool path and by listed name. */
  heldByName: ReadonlyMap<string, HeldRoute>
  prompts: readonly PromptRoute[]
  promptByName: Lookup<PromptRoute>
  /** By the upstream's own name, which several servers may share. */
  promptsByOwnName: Lookup<readonly PromptRoute[]>
  resources: readonly ResourceRoute[]
  templates: readonly ResourceRoute[]
  /** Resources and templates by the upstream's own URI, which several servers may share. */
  resourcesByOwnUri: Lookup<readonly ResourceRoute[]>
  extras: readonly Extra[]
}

export type Extra = { resource: ResourceRoute } | { template: ResourceRoute } | { prompt: PromptRoute }

export type Catalog = Offer & {
  generation: number
  config: RouterConfig
  /** All servers of the config with their states, hidden ones too. */
  servers: ReadonlyMap<string, RouterServer>
  /** By server; a server that was never discovered has none. */
  catalogs: ReadonlyMap<string, ServerCatalog>
  /** Vectors of `index` and `extraIndex`; absent without an encoder. */
  vectors?: { tools: VectorTable; extras: VectorTable }
  /** What the caller may use, if this is a part of a catalog; see restrict.ts. */
  view?: View
  /** The catalog that this is a part of. It has things that the caller must not learn of: only for audit and metrics. */
  whole?: Catalog
  /** The servers whose lists are read for each user too. */
  listedPerUser: readonly string[]
  /** Which tools searches find, by search id; undefined: all. */
  shown?: (tool: number) => boolean
  /** Counts of what is visible. `tokens`: what listing the tools directly would cost an agent. */
  totals: {
    servers: number
    tools: number
    tokens: number
    resources: number
    templates: number
    prompts: number
  }
}

/**
 * Builds the catalog of a snapshot. Yields often, so that the caller can yield to the event loop. Unchanged parts are reused from
 * `previous`: nearly everything if only states, limits or budgets changed.
 */
export function* buildCatalog(snapshot: Snapshot, previous?: Catalog): Generator<void, Catalog> {
  const parts = yield* buildParts(snapshot, previous)
  return yield* assembleCatalog(snapshot, parts, previous)
}

/** The catalog of a snapshot's parts, which are in the order of its servers. */
export function* assembleCatalog(
  snapshot: Snapshot,
  parts: readonly ServerPart[],
  previous?: Catalog,
): Generator<void, Catalog> {
  const same =
    previous?.parts.length === parts.length &&
    parts.every((part, position) => part === previous.parts[position])
  const offer = same ? previous : yield* buildOffer(parts, previous)
  return { ...offer, ...stateOf(snapshot, offer) }
}

/** Whether a server's tools, resources and prompts are found and listed. */
export function isShown(catalog: Catalog, server: string): boolean {
  return catalog.servers.get(server)?.status.hidden === false
}

/** Whether searches and meta-tools show an item: one that is only for apps can be called, but agents do not find it. */
export function isFound(catalog: Catalog, item: { server: string; definition: JsonObject }): boolean {
  return isShown(catalog, item.server) && !isForApps(item.definition)
}

function* buildParts(snapshot: Snapshot, previous?: Catalog): Generator<void, ServerPart[]> {
  const known = new Map(previous?.parts.map(part => [part.server, part]))
  const parts: ServerPart[] = []
  for (const server of snapshot.config.servers) {
    const catalog = snapshot.catalogs.get(server.name)
    if (!catalog) continue
    const before = known.get(server.name)
    if (before?.key === partKey(server, catalog)) {
      parts.push(before)
      continue
    }
    parts.push(yield* buildServerPart(server, catalog))
    yield
  }
  return parts
}

function* buildOffer(parts: readonly ServerPart[], previous?: Catalog): Generator<void, Offer> {
  const routes = yield* buildRoutes(parts)
  const documents = parts.flatMap(part => part.documents)
  const index = yield* buildIndex(documents, previous?.index)
  const extraIndex = yield* buildIndex(
    routes.extras.map(extra => routeOf(extra).document),
    previous?.extraIndex ?? index,
  )
  return { ...routes, index, extraIndex }
}

/** Collects what the parts offer. Yields between steps. */
function* buildRoutes(parts: readonly ServerPart[]): Generator<void, Routes> {
  const tools = parts.flatMap(part => part.tools)
  const prompts = parts.flatMap(part => part.prompts)
  const resources = parts.flatMap(part => part.resources).sort(byShownUri)
  const templates = parts.flatMap(part => part.templates).sort(byShownUri)
  yield
  const toolByName = new Map<string, ToolRoute>()
  for (const tool of tools) toolByName.set(tool.path, tool).set(tool.listedName, tool)
  const promptByName = new Map<string, PromptRoute>()
  for (const prompt of prompts) promptByName.set(prompt.path, prompt).set(prompt.listedName, prompt)
  yield
  const toolsByOwnName = Map.groupBy(tools, tool => tool.tool)
  yield
  const promptsByOwnName = Map.groupBy(prompts, prompt => prompt.prompt)
  const resourcesByOwnUri = Map.groupBy([...resources, ...templates], resource => resource.uri)
  yield
  const extras = [
    ...resources.map(resource => ({ resource })),
    ...templates.map(template => ({ template })),
    ...prompts.map(prompt => ({ prompt })),
  ]
  return {
    parts,
    tools,
    toolByName,
    toolsByOwnName,
    heldByName: heldByNameIn(parts),
    prompts,
    promptByName,
    promptsByOwnName,
    resources,
    templates,
    resourcesByOwnUri,
    extras,
  }
}

/** The held tools of some parts. */
export function heldByNameIn(parts: readonly ServerPart[]): Map<string, HeldRoute> {
  const held = parts.flatMap(part => part.held)
  return new Map(held.flatMap(tool => [tool.listedName, tool.path].map(name => [name, tool] as const)))
}

/** What depends on the servers' states: the servers, the visible routes, and their counts. */
export function stateOf({ generation, config, catalogs }: Snapshot, offer: Routes) {
  const servers = new Map(config.servers.map(server => [server.name, server]))
  const isHidden = (item: { server: string }): boolean => servers.get(item.server)?.status.hidden !== false
  const isKept = (tool: ToolRoute): boolean => isHidden(tool) || isForApps(tool.definition)
  const shown = offer.parts.filter(part => !isHidden(part))
  const sum = (count: (part: ServerPart) => number): number =>
    shown.reduce((total, part) => total + count(part), 0)
  return {
    generation,
    config,
    catalogs,
    servers,
    listedPerUser: config.servers.filter(({ users }) => users?.ownLists).map(({ name }) => name),
    shown: offer.tools.some(tool => isKept(tool)) ? shownTools(offer, isKept) : undefined,
    totals: {
      servers: config.servers.filter(server => !server.status.hidden).length,
      tools: sum(part => part.tools.length),
      tokens: sum(part => part.tokens),
      resources: sum(part => part.resources.length),
      templates: sum(part => part.templates.length),
      prompts: sum(part => part.prompts.length),
    },
  }
}

function shownTools({ tools }: Routes, isKept: (tool: ToolRoute) => boolean): (tool: number) => boolean {
  const mask = Uint8Array.from(tools, tool => (isKept(tool) ? 0 : 1))
  return tool => mask[tool] === 1
}

/** The route of a resource, a template or a prompt. */
export function routeOf(extra: Extra): ResourceRoute | PromptRoute {
  return 'prompt' in extra ? extra.prompt : 'template' in extra ? extra.template : extra.resource
}

function byShownUri(a: ResourceRoute, b: ResourceRoute): number {
  return a.shownUri < b.shownUri ? -1 : a.shownUri > b.shownUri ? 1 : 0
}
