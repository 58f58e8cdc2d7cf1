/** Describes the purpose of well-known products in everyday words. Pure. */
import products from './data/products.json' with { type: 'json' }
import { splitIdentifier } from './identifiers.ts'

const PURPOSES: ReadonlyMap<string, string> = new Map(Object.entries(products))
/** More would displace the rest of a short text. */
const MAX_PURPOSES = 2

/** The purposes of at most two products that occur in a name: `chat team message channel workplace` for `slack-bot`. */
export function purposesOf(name: string): string {
  const words = new Set(splitIdentifier(name).toLowerCase().split(/\s+/))
  const purposes = [...words].map(word => PURPOSES.get(word)).filter(purpose => purpose !== undefined)
  return purposes.slice(0, MAX_PURPOSES).join(' ')
}
