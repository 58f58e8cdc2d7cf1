/** The catalog as one caller sees it: what its view does not grant is not in it, and so cannot be found, named, counted or reached. Pure. */
import type { RouterServer } from '../../core/catalog/router-config.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { seesPrompt, seesResource, seesTool, type View } from '../access/view.ts'
import { type Catalog, stateOf } from './catalog.ts'
import { createGrantedTools } from './granted-tools.ts'
import { partOfRoutes } from './part-routes.ts'
import type { VectorTable } from './search/search-index.ts'
import type { ServerPart, ToolRoute } from './server-part.ts'

/**
 * Returns a function that makes a catalog with only what a view grants. It is searched in the whole's indexes with the statistics of the
 * granted part: those of what is hidden would change scores and corrections.
 */
export function createRestriction(catalog: Catalog): (view: View) => Catalog {
  const { config, catalogs, tools } = catalog
  const granted = createGrantedTools()
  const parts = new Map(catalog.parts.map(part => [part.server, part]))
  const places = placesOf(catalog)
  return view => {
    const mask = new Uint8Array(tools.length)
    const seen = config.servers.flatMap((server): Seen[] => {
      const [part, list] = [parts.get(server.name), catalogs.get(server.name)]
      const rules = granted.rulesFor(view, server)
      // A server that was never discovered is visible if a rule is about it.
      if (!part || !list) return rules.length > 0 ? [{ server }] : []
      const isSeen = granted.seen(view, rules, server, part)
      mask.set(isSeen, places.first.get(part))
      const here = { ...view, granting: rules, challenging: [] }
      return seenOf(list, restrictPart(part, isSeen, here, server), part, server)
    })
    const hasTool = (tool: ToolRoute) => mask[places.of.get(tool) ?? -1] === 1
    return assemble(catalog, view, seen, hasTool)
  }
}

function assemble(
  catalog: Catalog,
  view: View,
  seen: readonly Seen[],
  hasTool: (tool: ToolRoute) => boolean,
): Catalog {
  const parts = seen.flatMap(({ part }) => part ?? [])
  const routes = partOfRoutes(catalog, parts, hasTool)
  const config = { ...catalog.config, servers: seen.map(({ server }) => server) }
  const catalogs = new Map(seen.flatMap(({ server, list }) => (list ? [[server.name, list] as const] : [])))
  const state = stateOf({ generation: catalog.generation, config, catalogs }, routes)
  const tools = lazily(() => membersOf(catalog.tools, hasTool))
  const extras = lazily(() => {
    const members = new Set(routes.extras)
    return membersOf(catalog.extras, extra => members.has(extra))
  })
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
    whole: catalog,
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

/** The places of the items that are in a part, ascending. */
function membersOf<T>(all: readonly T[], isIn: (item: T) => boolean): Int32Array {
  return Int32Array.from(all.keys().filter(place => isIn(all[place] as T)))
}

/** Where each part's tools begin among all, and each tool's place. */
function placesOf({ parts, tools }: Catalog) {
  const first = new Map<ServerPart, number>()
  let next = 0
  for (const part of parts) {
    first.set(part, next)
    next += part.tools.length
  }
  return { first, of: new Map(tools.map((tool, place) => [tool, place])) }
}

type Seen = { server: RouterServer; part?: ServerPart; list?: ServerCatalog }

/** `restricted`: what is granted of `part`. A server of which nothing is granted does not exist for the caller. */
function seenOf(list: ServerCatalog, restricted: ServerPart, part: ServerPart, server: RouterServer): Seen[] {
  const count = countOf(restricted)
  if (count === 0) return []
  // Often most parts of a view are granted completely: these are shared instead of copied.
  const isWhole = count === countOf(part)
  return [
    {
      server,
      part: isWhole ? part : restricted,
      list: isWhole && !list.held ? list : restrictList(list, restricted),
    },
  ]
}

function countOf({ tools, held, prompts, resources, templates }: ServerPart): number {
  return tools.length + held.length + prompts.length + resources.length + templates.length
}

/** `isSeen`: for each tool of the part, 1 or 0. `view`: only with the rules that are about the server. */
function restrictPart(part: ServerPart, isSeen: Uint8Array, view: View, server: RouterServer): ServerPart {
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
    isFamiliar: table.isFamiliar,
    isKnown: place => table.isKnown(members[place] as number),
    similarities(query) {
      const whole = table.similarities(query)
      for (const [place, document] of members.entries()) similarities[place] = whole[document] as number
      return similarities
    },
  }
}

/** Returns a function that calls `make` at its first call only. */
function lazily<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
