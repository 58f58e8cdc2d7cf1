/** The tools and resources of a catalog as the console lists them. Pure. */
import type { ConsoleResource, ConsoleTool, ConsoleToolDetail } from '../../core/console/shapes.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { declares } from '../../core/mcp/protocol/declares.ts'
import { type Catalog, isShown } from '../catalog/catalog.ts'
import type { HeldRoute, ResourceRoute, ToolRoute } from '../catalog/server-part.ts'
import { toolDeclaration } from '../code/declarations.ts'
import { listedDefinition, listedTokens } from '../meta/listing/listed-definition.ts'
import { composeDiscovery } from '../meta/profiles/hierarchical/discovery-answer.ts'

const MAX_SUMMARY_CHARACTERS = 160
const MAX_RESOURCES = 20_000

/** Includes tools of hidden servers, so that people can find out why agents do not find them. */
export function toolsOf(catalog: Catalog): ConsoleTool[] {
  const held = [...new Set(catalog.heldByName.values())]
  return [
    ...catalog.tools.map(route => lineOf(catalog, route)),
    ...held.map(route => heldLine(catalog, route)),
  ]
}

/** One tool with its definition, also as agents see it unless it is held. Undefined if the catalog does not have it. */
export function toolDetailOf(catalog: Catalog, path: string): ConsoleToolDetail | undefined {
  const route = catalog.toolByName.get(path)
  const held = catalog.heldByName.get(path)
  if (!route) return held && { ...heldLine(catalog, held), ...definedIn(catalog, held) }
  const { profile } = catalog.config
  const seen = profile === 'direct' ? listedIn(route) : foundIn(catalog, route)
  return {
    ...lineOf(catalog, route),
    ...definedIn(catalog, route),
    seen,
    ...(catalog.config.code && { inScripts: toolDeclaration({ catalog }, route) }),
  }
}

/** The definition of a tool, and the names by which agents call it. */
function definedIn(
  { config: { profile } }: Catalog,
  { definition, path, listedName }: HeldRoute | ToolRoute,
) {
  return {
    definition,
    declaration: { profile, name: profile === 'direct' ? listedName : path, listedName },
  }
}

/** The resources and templates of servers that are not hidden, at most MAX_RESOURCES. */
export function resourcesOf(catalog: Catalog): ConsoleResource[] {
  const watchable = new Map(
    [...catalog.catalogs].map(([name, { capabilities }]) => [
      name,
      declares(capabilities.resources, 'subscribe'),
    ]),
  )
  const line = (route: ResourceRoute, isTemplate: boolean): ConsoleResource => {
    const { title, name, description, mimeType, size } = route.definition as JsonObject
    return {
      server: route.server,
      uri: route.shownUri,
      listedUri: route.listedUri,
      own: route.uri,
      isTemplate,
      name: text(title) ?? text(name) ?? route.uri,
      description: text(description)?.slice(0, MAX_SUMMARY_CHARACTERS),
      mimeType: text(mimeType),
      size: typeof size === 'number' ? size : undefined,
      watchable: !isTemplate && watchable.get(route.server) === true,
    }
  }
  const shown = (route: ResourceRoute) => isShown(catalog, route.server)
  return [
    ...catalog.resources.filter(shown).map(route => line(route, false)),
    ...catalog.templates.filter(shown).map(route => line(route, true)),
  ].slice(0, MAX_RESOURCES)
}

function heldLine(catalog: Catalog, route: HeldRoute): ConsoleTool {
  return { ...lineOf(catalog, { ...route, tokens: 0 }), held: true }
}

function lineOf(catalog: Catalog, route: (ToolRoute | HeldRoute) & { tokens: number }): ConsoleTool {
  const { definition, server } = route
  const known = catalog.servers.get(server)
  const description = text(definition.description) ?? ''
  return {
    path: route.path,
    server,
    name: route.tool,
    title: titleOf(definition),
    summary: description.replace(/\s+/g, ' ').trim().slice(0, MAX_SUMMARY_CHARACTERS),
    category: known?.tools.overrides[route.tool]?.category ?? known?.category,
    tokens: route.tokens,
    notes: notesOf(definition),
  }
}

function titleOf({ title, annotations }: JsonObject): string | undefined {
  return text(title) ?? (isObject(annotations) ? text(annotations.title) : undefined)
}

/** The hints of MCP as words. A tool that only reads destroys nothing, whatever else is said. */
function notesOf({ annotations }: JsonObject): string[] {
  if (!isObject(annotations)) return []
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations
  return [
    ...(readOnlyHint === true ? ['reads'] : []),
    ...(readOnlyHint !== true && destructiveHint === true ? ['destructive'] : []),
    ...(readOnlyHint !== true && idempotentHint === true ? ['repeatable'] : []),
    ...(openWorldHint === true ? ['outside'] : []),
  ]
}

/** The tool as agents see it in tools/list with the profile `direct`. */
function listedIn(route: ToolRoute): ConsoleToolDetail['seen'] {
  return { definition: listedDefinition(route), tokens: listedTokens(route) }
}

/** The tool as agents see it in the answer to a search for its name that finds nothing else. */
function foundIn(catalog: Catalog, route: ToolRoute): ConsoleToolDetail['seen'] {
  const { text, tokens } = composeDiscovery({
    catalog,
    tools: [{ item: route, relevance: 1, weak: false, whole: false }],
    extras: [],
    totalFound: 1,
    searchMs: 0,
    from: 0,
    hasMore: false,
    cursorAfter: () => undefined,
    query: route.tool,
  })
  const { tools } = JSON.parse(text) as { tools: JsonObject[] }
  return { definition: tools[0] ?? {}, tokens }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
