/** The items of native lists with their JSON text, serialized once for as long as the server's lists stay the same. */
import type { ServerCatalog } from '../../../core/catalog/server-catalog.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { McpResponse } from '../../../core/mcp/protocol/json-rpc.ts'
import { type Catalog, isShown } from '../../catalog/catalog.ts'
import type { ServerPart } from '../../catalog/server-part.ts'
import type { Once } from '../once.ts'
import { listedDefinition, listedTokens } from './listed-definition.ts'
import { listedItem } from './listed-item.ts'
import { pageOf } from './pages.ts'

/** The names of lists, as in the protocol's results. */
export type ListName = 'tools' | 'resources' | 'resourceTemplates' | 'prompts'

export type Listed = {
  /** The key that the list is sorted by. */
  key: string
  item: JsonObject
  /** The item as JSON. */
  text: string
  /** What listing a tool costs an agent; 0 for other items. */
  tokens: number
}

/** `tokens`: what the page's tools cost an agent. */
export type ListPage = { reply: McpResponse; tokens: number }

/** What a gateway lists: the items of all visible servers, grouped by server. */
export function gatewayLists(once: Once, catalog: Catalog, list: ListName): readonly (readonly Listed[])[] {
  return catalog.parts
    .filter(part => isShown(catalog, part.server))
    .map(part => once(part, `exposed ${list}`, () => sorted(exposedItems(part, list))))
}

/** What one server lists. */
export function serverList(once: Once, catalog: Catalog, server: string, list: ListName): readonly Listed[] {
  const known = catalog.catalogs.get(server)
  if (list !== 'tools')
    return known ? once(known, `own ${list}`, () => sorted(ownItems(known, list))) : NOTHING
  const part = catalog.parts.find(one => one.server === server)
  const toolsOf = ({ tools }: ServerPart) =>
    tools.map(({ tool, definition, tokens }) => listed(tool, definition, tokens))
  return part ? once(part, 'own tools', () => sorted(toolsOf(part))) : NOTHING
}

/** The page at a cursor, limited in items and tokens but with at least one item; undefined if the cursor is invalid. */
export function listPage(
  list: ListName,
  items: readonly Listed[],
  cursor: unknown,
  mostItems: number,
  mostTokens = Number.POSITIVE_INFINITY,
): ListPage | undefined {
  let tokens = 0
  const page = pageOf(
    items,
    ({ key }) => key,
    cursor,
    (item, count) => {
      const fits = count < mostItems && tokens + item.tokens <= mostTokens
      if (fits || count === 0) tokens += item.tokens
      return fits
    },
    list,
  )
  if (!page) return undefined
  const { nextCursor } = page
  const result = { [list]: page.items.map(({ item }) => item), nextCursor }
  const more = nextCursor === undefined ? '' : `,"nextCursor":${JSON.stringify(nextCursor)}`
  const resultText = `{"${list}":[${page.items.map(({ text }) => text).join(',')}]${more}}`
  return { reply: { result, resultText }, tokens }
}

/** Sorted by key, in the order of UTF-16 code units, as cursors need it. */
export function sorted(items: readonly Listed[]): readonly Listed[] {
  return items.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
}

const NOTHING: readonly Listed[] = []

/** What a gateway lists of one server: with names that include the server, and the gateway's URIs. */
function exposedItems(part: ServerPart, list: ListName): Listed[] {
  switch (list) {
    case 'tools':
      return part.tools.map(tool => listed(tool.listedName, listedDefinition(tool), listedTokens(tool)))
    case 'prompts':
      return part.prompts.map(({ server, listedName, definition }) =>
        listed(listedName, { ...listedItem(server, definition), name: listedName }),
      )
    default:
      return (list === 'resources' ? part.resources : part.templates).map(
        ({ server, shownUri, definition }) => listed(shownUri, listedItem(server, definition)),
      )
  }
}

/** What the endpoint of one server lists: its items, unchanged. */
function ownItems(known: ServerCatalog, list: Exclude<ListName, 'tools'>): Listed[] {
  switch (list) {
    case 'resources':
      return known.resources.map(item => listed(item.uri, item))
    case 'resourceTemplates':
      return known.resourceTemplates.map(item => listed(item.uriTemplate, item))
    case 'prompts':
      return known.prompts.map(item => listed(item.name, item))
  }
}

function listed(key: string, item: JsonObject, tokens = 0): Listed {
  return { key, item, text: JSON.stringify(item), tokens }
}
