/** What a search says besides its hits: which products and tools of the query there are not, and why. */
import type { Catalog } from '../../catalog/catalog.ts'
import { wordsOf } from '../../catalog/search/text.ts'
import { heldRefusal, stateRefusal } from '../calling/targets.ts'
import { quote } from '../wording/sentences.ts'

/** The `absent` products of a search and the `unknown` names of a selection. */
export type NotFound = { absent?: readonly string[]; unknown?: readonly string[] }

/** A sentence for each, joined; undefined if there are none. A server without tools that can be found now is not absent: its state is the reason. */
export function remarkOn(
  catalog: Catalog,
  { absent = [], unknown = [] }: NotFound,
  more?: string,
): string | undefined {
  const named = new Set(
    catalog.config.servers.flatMap(({ name, title = '' }) =>
      wordsOf(`${name} ${title}`).map(({ text }) => text),
    ),
  )
  const products = absent.filter(product => !named.has(product))
  const reasonOf = (name: string) => (stateRefusal(catalog, name) ?? heldRefusal(catalog, name))?.refusal
  const names = unknown.filter(name => reasonOf(name) === undefined)
  const sentences = [
    products.length > 0 ? `No server here is for ${products.join(', ')}.` : undefined,
    names.length > 0 ? `There is no tool ${names.map(name => quote(name)).join(', ')}.` : undefined,
    ...new Set(unknown.map(reasonOf)),
    more,
  ]
  return sentences.filter(Boolean).join(' ') || undefined
}
