/** The sentences that a search adds to its hits: which products and tools that the query names do not exist here, and why. */
import type { Catalog } from '../../catalog/catalog.ts'
import { wordsOf } from '../../catalog/search/text.ts'
import { heldRefusal, stateRefusal } from '../calling/targets.ts'
import { quote } from '../wording/sentences.ts'
import { NOTHING_FITS } from './search-catalog.ts'
import { MAX_QUERIES } from './search-request.ts'

/** How many servers that are starting are named. */
const MAX_STARTING = 3

/** The `absent` products of a search, the `unknown` names of a selection, and how many tools of it are `left` out. */
export type NotFound = { absent?: readonly string[]; unknown?: readonly string[]; left?: number }

/** A sentence for each, joined; empty if there are none. A server without tools that can be found now is not absent: its state is the reason. */
export function remarkOn(catalog: Catalog, { absent = [], unknown = [], left = 0 }: NotFound): string {
  const products = absent.length > 0 ? withoutServer(catalog, absent) : []
  const refusals = unknown.map(name => (stateRefusal(catalog, name) ?? heldRefusal(catalog, name))?.refusal)
  const names = unknown.filter((_name, at) => refusals[at] === undefined)
  return joined(
    products.length > 0 ? `No server here is for ${products.join(', ')}.` : undefined,
    names.length > 0 ? `There is no tool ${names.map(name => quote(name)).join(', ')}.` : undefined,
    ...new Set(refusals),
    left > 0
      ? `${left} more of the selected tools are left out: select at most ${MAX_QUERIES} at a time.`
      : undefined,
  )
}

/** The sentence if `fitsNone`. The tool may be one of a server that is starting: then it says to search again. */
export function nothingFits({ config, catalogs }: Catalog): string {
  const starting = config.servers.filter(
    ({ name, status }) => !catalogs.has(name) && !status.hidden && status.state === 'starting',
  )
  if (starting.length === 0) return NOTHING_FITS
  const names = starting.slice(0, MAX_STARTING).map(({ name }) => name)
  const left = starting.length - names.length
  const more = left > 0 ? ` and ${left} more` : ''
  const they = starting.length > 1 ? 'they are' : 'it is'
  return `The tools of ${names.join(', ')}${more} are not known yet: ${they} starting. Search again in a few seconds.`
}

/** The texts that are neither empty nor undefined, with a space between them. */
export function joined(...texts: (string | undefined)[]): string {
  return texts.filter(Boolean).join(' ')
}

/** The products that no server of the catalog is named after, whether its tools can be found now or not. */
function withoutServer({ config }: Catalog, products: readonly string[]): string[] {
  const named = new Set(
    config.servers.flatMap(({ name, title = '' }) => [
      name.replaceAll('-', ''),
      ...wordsOf(`${name} ${title}`).map(({ text }) => text),
    ]),
  )
  return products.filter(product => !named.has(product))
}
