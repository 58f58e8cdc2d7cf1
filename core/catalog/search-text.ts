/** The texts by which tools, resources and prompts are found by meaning: made alike by who encodes them and by who searches. Pure. */
import { createHash } from 'node:crypto'
import type { JsonObject } from '../json.ts'
import type { RouterServer } from './router-config.ts'
import type { ServerCatalog, ToolDefinition } from './server-catalog.ts'

/** What is known of a server besides its lists, from its manifest. */
export type ServerKnowledge = Pick<
  RouterServer,
  'name' | 'title' | 'description' | 'category' | 'keywords' | 'tools'
>

/** What is encoded of one item: vector = encode(full) + .3 · encode(name), divided by 1.3. */
export type SearchText = {
  /** Of both texts: equal keys, equal vectors. */
  key: string
  full: string
  name: string
}

export function toolSearchText(
  server: ServerKnowledge,
  _catalog: ServerCatalog,
  { name, description = '' }: ToolDefinition,
): SearchText {
  return searchText(`${server.name}: ${name}. ${description.slice(0, 400)}`, `${server.name} ${name}`)
}

/** Of a resource, a resource template or a prompt. */
export function itemSearchText(
  server: ServerKnowledge,
  _catalog: ServerCatalog,
  { name, description }: JsonObject,
): SearchText {
  return searchText(
    `${server.name}: ${String(name)}. ${String(description ?? '').slice(0, 400)}`,
    `${server.name} ${String(name)}`,
  )
}

/** All that can be found of a server, each text once, in no order that matters: tools first. */
export function searchTexts(server: ServerKnowledge, catalog: ServerCatalog): SearchText[] {
  const { tools, resources, resourceTemplates, prompts } = catalog
  const texts = [
    ...tools.map(({ definition }) => toolSearchText(server, catalog, definition)),
    ...[...resources, ...resourceTemplates, ...prompts].map(item => itemSearchText(server, catalog, item)),
  ]
  return [...new Map(texts.map(text => [text.key, text])).values()]
}

function searchText(full: string, name: string): SearchText {
  const key = createHash('sha256')
    .update(JSON.stringify([full, name]))
    .digest('base64url')
    .slice(0, 22)
  return { key, full, name }
}
