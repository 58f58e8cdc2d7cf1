/** The catalog as one caller sees it: what its view does not grant is not in it, and so cannot be found, named, counted or reached. Pure. */
import type { RouterServer } from '../../core/catalog/router-config.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { seesPrompt, seesResource, seesTool, type View, viewOfServer } from '../access/view.ts'
import { buildRoutes, type Catalog, routeOf, stateOf } from './catalog.ts'
import type { VectorTable } from './search/search-index.ts'
import type { ServerPart } from './server-part.ts'

/**
 * Returns a catalog that contains only what `view` grants. It is searched in the whole's indexes with the statistics of the granted part:
 * those of what is hidden would change scores and corrections.
 */
export function restrict(catalog: Catalog, view: View): Catalog {
  const wholes = new Map(catalog.parts.map(part => [part.server, part]))
  const seen = catalog.config.servers.flatMap(server => seenOf(catalog, view, server, wholes))
  const parts = seen.flatMap(({ part }) => (part ? [part] : []))
  const routes = finish(buildRoutes(parts))
  const config = { ...catalog.config, servers: seen.map(({ server }) => server) }
  const catalogs = new Map(seen.flatMap(({ server, list }) => (list ? [[server.name, list] as const] : [])))
  const state = stateOf({ generation: catalog.generation, config, catalogs }, routes)
  const tools = lazily(() => membersOf(catalog.tools, routes.tools))
  const extras = lazily(() => membersOf(catalog.extras.map(routeOf), routes.extras.map(routeOf)))
  const index = lazily(() => catalog.index.under(tools()))
  const extraIndex = lazily(() => catalog.extraIndex.under(extras()))
  const vectors = lazily(
    () =>
      catalog.vectors && {
        tools: partOfTable(catalog.vectors.tools, tools()),
        extras: partOfTable(catalog.vectors.extras, extras()),
      },
  )
  return {
    ...routes,
    ...state,
    view,
    get index() {
      return index()
    },
    get extraIndex() {
      return extraIndex()
    },
    get vectors() {
      return vectors()
    },
  }
}

/** The places of some items among all, ascending. */
function membersOf<T>(all: readonly T[], some: readonly T[]): Int32Array {
  const wanted = new Set(some)
  return Int32Array.from(all.keys().filter(place => wanted.has(all[place] as T)))
}

type Seen = { server: RouterServer; part?: ServerPart; list?: ServerCatalog }

/** A server of which nothing is granted does not exist for the caller. One that was never discovered exists if a rule speaks of it. */
function seenOf(
  catalog: Catalog,
  view: View,
  server: RouterServer,
  parts: ReadonlyMap<string, ServerPart>,
): Seen[] {
  const part = parts.get(server.name)
  const list = catalog.catalogs.get(server.name)
  const here = viewOfServer(view, server)
  if (!part || !list) return here.granting.length + here.challenging.length > 0 ? [{ server }] : []
  const own = restrictPart(part, here, server)
  const count = countOf(own)
  if (count === 0) return []
  // What is granted whole is shared, as most of a view often is.
  const isWhole = count === countOf(part)
  return [
    { server, part: isWhole ? part : own, list: isWhole && !list.held ? list : restrictList(list, own) },
  ]
}

function countOf({ tools, held, prompts, resources, templates }: ServerPart): number {
  return tools.length + held.length + prompts.length + resources.length + templates.length
}

function restrictPart(part: ServerPart, view: View, server: RouterServer): ServerPart {
  const isSeen = part.tools.map(({ definition }) => seesTool(view, server, definition))
  const tools = part.tools.filter((_tool, at) => isSeen[at])
  return {
    ...part,
    tools,
    documents: part.documents.filter((_document, at) => isSeen[at]),
    held: part.held.filter(({ definition }) => seesTool(view, server, definition)),
    prompts: part.prompts.filter(({ prompt }) => seesPrompt(view, server, prompt)),
    resources: part.resources.filter(({ uri }) => seesResource(view, server, uri)),
    templates: part.templates.filter(({ uri }) => seesResource(view, server, uri)),
    tokens: tools.reduce((sum, tool) => sum + tool.tokens, 0),
  }
}

/** The upstream's lists without what is hidden: a server's own route passes them on. */
function restrictList({ held: _, ...list }: ServerCatalog, part: ServerPart): ServerCatalog {
  const tools = new Set(part.tools.map(({ tool }) => tool))
  const prompts = new Set(part.prompts.map(({ prompt }) => prompt))
  const resources = new Set(part.resources.map(({ uri }) => uri))
  const templates = new Set(part.templates.map(({ uri }) => uri))
  return {
    ...list,
    tools: list.tools.filter(({ definition }) => tools.has(definition.name)),
    prompts: list.prompts.filter(({ name }) => prompts.has(name)),
    resources: list.resources.filter(({ uri }) => resources.has(uri)),
    resourceTemplates: list.resourceTemplates.filter(({ uriTemplate }) => templates.has(uriTemplate)),
  }
}

/** The vectors of some of a table's documents. */
function partOfTable(table: VectorTable, members: Int32Array): VectorTable {
  const similarities = new Float32Array(members.length)
  return {
    pending: members.reduce((pending, document) => pending + (table.isKnown(document) ? 0 : 1), 0),
    isKnown: place => table.isKnown(members[place] as number),
    similarities(query) {
      const whole = table.similarities(query)
      for (const [place, document] of members.entries()) similarities[place] = whole[document] as number
      return similarities
    },
  }
}

function lazily<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/** Runs a generator to its end without giving way. */
function finish<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}
