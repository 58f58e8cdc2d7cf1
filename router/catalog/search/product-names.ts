/** Distinguishes names of products from other words: well-known products, and rare words that are not English, not even mistyped. Pure. */
import type { Corpus } from './corpus.ts'
import products from './data/products.json' with { type: 'json' }
import { isEnglish } from './english-words.ts'
import { isRare } from './rare-words.ts'
import type { SearchDocument } from './search-index.ts'
import { stem, wordsOf } from './text.ts'

/** Shorter words are too similar to each other to recognize typing errors. */
const MIN_EDIT_CHARACTERS = 5
const ASCII = /^[a-z]{3,24}$/
const LETTERS = [...'abcdefghijklmnopqrstuvwxyz']

const NAMES: ReadonlySet<string> = new Set(products.words.split(' '))
const PRODUCTS: ReadonlySet<string> = new Set([...NAMES].map(stem))

/** Whether a word in lower case is the name of a well-known product. Not its stem: `description` has that of `descript`. */
export function isWellKnown(word: string): boolean {
  return NAMES.has(word)
}

/** Whether a stem is the name of a product. Words with letters other than a to z are words of another language. */
export function isProductName(term: string): boolean {
  if (PRODUCTS.has(term)) return true
  return ASCII.test(term) && isRare(term) && !isEnglish(term) && !isMistyped(term)
}

/** The rare words in the name and title of a document's server, as stems. */
export function productTermsOf({ server, serverTitle = '' }: SearchDocument): string[] {
  return wordsOf(`${server} ${serverTitle}`)
    .map(({ term }) => term)
    .filter(isRare)
}

/** By each such term, the numbers of the servers that it is from. */
export function serversByProduct({
  documents,
  serverOf,
}: Pick<Corpus, 'documents' | 'serverOf'>): Map<string, number[]> {
  const first = new Map<number, SearchDocument>()
  for (const [at, server] of serverOf.entries())
    if (!first.has(server)) first.set(server, documents[at] as SearchDocument)
  const servers = new Map<string, number[]>()
  for (const [server, document] of first)
    for (const term of productTermsOf(document)) {
      const named = servers.get(term)
      if (named) named.push(server)
      else servers.set(term, [server])
    }
  return servers
}

/** Whether the term is an English word with one typing error. */
function isMistyped(term: string): boolean {
  return term.length >= MIN_EDIT_CHARACTERS && edits(term).some(isEnglish)
}

/** All strings that one swapped, missing, added or replaced letter makes of a term. */
function* edits(term: string): Generator<string> {
  for (let at = 0; at <= term.length; at++) {
    const [before, after] = [term.slice(0, at), term.slice(at)]
    if (after.length > 1) yield `${before}${after[1]}${after[0]}${after.slice(2)}`
    if (after !== '') yield before + after.slice(1)
    for (const letter of LETTERS) {
      yield before + letter + after
      if (after !== '') yield before + letter + after.slice(1)
    }
  }
}
