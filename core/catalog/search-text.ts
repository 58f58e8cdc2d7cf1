/** Builds the texts that are encoded for search by meaning; discovery and search must build identical texts. Pure. */

import { createHash } from 'node:crypto'
import type { JsonObject, JsonValue } from '../json.ts'
import { ownValue } from '../own-value.ts'
import { splitIdentifier } from './identifiers.ts'
import { applyOverride, isAllowed } from './policy.ts'
import { purposesOf } from './products.ts'
import type { RouterServer } from './router-config.ts'
import type { ServerCatalog, ToolDefinition } from './server-catalog.ts'

/** The descriptive fields of a server's manifest. */
export type ServerKnowledge = Pick<
  RouterServer,
  'name' | 'title' | 'description' | 'category' | 'keywords' | 'tools'
>

/** The texts of one item: vector = (encode(full) + .3 · encode(name)) / 1.3. */
export type SearchText = {
  /** Digest of both texts: equal keys have equal vectors. */
  key: string
  full: string
  name: string
}

/** The encoder reads about 64 word pieces of `full` and 32 of `name`: characters beyond these lengths are not among them. */
const DESCRIPTION_CHARACTERS = 400
const KNOWLEDGE_CHARACTERS = 100
const NAME_CHARACTERS = 200

/** The text of a tool. Applies the manifest's override, which may have been applied before. */
export function toolSearchText(
  server: ServerKnowledge,
  catalog: ServerCatalog,
  definition: ToolDefinition,
): SearchText {
  const { name, title, description } = applyOverride(server.tools, definition)
  const override = ownValue(server.tools.overrides, name)
  const words = joinNames(name, text(title))
  const own = [...(override?.keywords ?? []), override?.category ?? ''].join(' ').trim()
  return searchText(server, catalog, { words, description, own })
}

/** The text of a resource, a resource template or a prompt. */
export function itemSearchText(
  server: ServerKnowledge,
  catalog: ServerCatalog,
  { name, title, description, uri, uriTemplate }: JsonObject,
): SearchText {
  const words = joinNames(text(name), text(title), text(uri) || text(uriTemplate).replace(/[{}?*&]/g, ' '))
  return searchText(server, catalog, { words, description: text(description), own: '' })
}

/** The texts of everything that can be found of a server, without duplicates. */
export function searchTexts(server: ServerKnowledge, catalog: ServerCatalog): SearchText[] {
  const { tools, resources, resourceTemplates, prompts } = catalog
  const texts = [
    ...tools
      .filter(({ definition }) => isAllowed(server.tools, definition.name))
      .map(({ definition }) => toolSearchText(server, catalog, definition)),
    ...[...resources, ...resourceTemplates, ...prompts].map(item => itemSearchText(server, catalog, item)),
  ]
  return [...new Map(texts.map(text => [text.key, text])).values()]
}

/** `own`: keywords and category that the manifest gives the tool. */
type Item = { words: string; description?: string; own: string }

function searchText(server: ServerKnowledge, catalog: ServerCatalog, item: Item): SearchText {
  const names = joinNames(server.name, server.title ?? '')
  const purposes = purposesOf(names)
  const description = (item.description ?? '').slice(0, DESCRIPTION_CHARACTERS)
  const full = `${names}${purposes && ` (${purposes})`}: ${item.words}. ${description}`
  const name = `${names} ${item.words} ${knowledgeOf(server, catalog, item)}`.trim()
  return { key: keyOf(full, name), full, name }
}

/** The words of all names without repetitions: a title often repeats the name. */
function joinNames(first: string, ...others: string[]): string {
  const words = splitIdentifier(first.slice(0, NAME_CHARACTERS))
  const known = new Set(words.toLowerCase().split(/\s+/))
  const fresh = others
    .flatMap(other => splitIdentifier(other.slice(0, NAME_CHARACTERS)).split(/\s+/))
    .filter(word => {
      const isFresh = word !== '' && !known.has(word.toLowerCase())
      known.add(word.toLowerCase())
      return isFresh
    })
  return [words, ...fresh].join(' ')
}

/** Further words from the manifest, the most specific first, cut to about a sentence. */
function knowledgeOf(
  { description, category, keywords }: ServerKnowledge,
  { instructions }: ServerCatalog,
  { own }: Item,
): string {
  const about = description ?? instructions?.slice(0, KNOWLEDGE_CHARACTERS)
  return [own, about, category, ...keywords].filter(Boolean).join(' ').slice(0, KNOWLEDGE_CHARACTERS)
}

function keyOf(full: string, name: string): string {
  return createHash('sha256')
    .update(JSON.stringify([full, name]))
    .digest('base64url')
    .slice(0, 22)
}

function text(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}
