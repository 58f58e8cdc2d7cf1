/** Finds the tools whose names or paths a query contains, also in another notation or with one typing error. Pure. */
import { splitIdentifier } from '../../../core/catalog/identifiers.ts'
import { isOneEdit } from './edits.ts'
import type { SearchDocument } from './search-index.ts'

export type Names = {
  /** Adds the names of a document, in the order of the ids. */
  add(document: number, content: SearchDocument): void
  /**
   * The tools that a query names, each with its exactness (higher is more exact). Empty if it names none. A query of several words
   * is only taken for a mistyped name if it has a word that no tool uses (`hasUnknown`). Only documents that `isIn` accepts are found.
   */
  named(query: string, hasUnknown: boolean, isIn?: (document: number) => boolean): ReadonlyMap<number, number>
}

/** `key`: the words of the name in another notation; `word`: one word of the query is the name. */
const EXACTNESS = { path: 5, name: 4, key: 3, word: 2 }
/** The query is a name or path with one typing error. */
export const NEARLY = 1
const EXACTNESS_NAMES = ['nearly', 'word', 'words', 'name', 'path'] as const
/** The rest of a longer title names nothing. */
const MAX_TITLE_CHARACTERS = 1_000
/** Longest word that may be the name of a tool. */
const MAX_NAME_CHARACTERS = 256
/** Shorter names are too similar to each other for correction. */
const MIN_MISTYPED_CHARACTERS = 6

export function createNames(): Names {
  const paths = new Map<string, number[]>()
  const names = new Map<string, number[]>()
  const keys = new Map<string, number[]>()
  const nearby = createNearby()
  const addKey = (key: string, document: number) => {
    put(keys, key, document)
    nearby.add(key, document)
  }
  return {
    add(document, { server, serverTitle, tool, title }) {
      put(paths, `${server}:${tool}`, document)
      put(paths, `${server}__${tool}`, document)
      put(paths, `${server} ${tool}`, document)
      put(names, tool, document)
      const toolKeys = new Set([tool, (title ?? tool).slice(0, MAX_TITLE_CHARACTERS)].map(keyOf))
      for (const key of toolKeys)
        for (const prefix of new Set(['', keyOf(server), keyOf(serverTitle ?? server)]))
          addKey(`${prefix} ${key}`.trim(), document)
    },
    named(query, hasUnknown, isIn = () => true) {
      const named = new Map<number, number>()
      const take = (list: number[] | undefined, exactness: number) => {
        for (const document of list ?? [])
          if (isIn(document)) named.set(document, Math.max(exactness, named.get(document) ?? 0))
      }
      const whole = query.trim()
      take(paths.get(whole), EXACTNESS.path)
      take(names.get(whole), EXACTNESS.name)
      take(keys.get(keyOf(whole)), EXACTNESS.key)
      if (named.size === 0)
        for (const word of identifiersOf(whole)) take(keys.get(keyOf(word)), EXACTNESS.word)
      if (named.size === 0 && (hasUnknown ? whole.length <= MAX_NAME_CHARACTERS : mayBeMistyped(whole)))
        take(nearby.to(whole), NEARLY)
      return named
    },
  }
}

/** Exactness as text: path, name, the same words in another form, one word, or with a typing error. */
export function exactnessName(exactness: number): (typeof EXACTNESS_NAMES)[number] | undefined {
  return EXACTNESS_NAMES[exactness - 1]
}

/** Splits an identifier into words: `createIssue`, `create_issue` and `Create issue` have the same key. */
function keyOf(name: string): string {
  return splitIdentifier(name.trim()).toLowerCase().replace(/\s+/g, ' ').trim()
}

type Nearby = { add(key: string, document: number): void; to(query: string): number[] }

/** Finds keys that differ by one typing error, comparing only letters: an error in camelCase often moves word boundaries. */
function createNearby(): Nearby {
  const byLength = new Map<number, Map<string, number[]>>()
  return {
    add(key, document) {
      const letters = lettersOf(key)
      const alike = byLength.get(letters.length) ?? new Map<string, number[]>()
      byLength.set(letters.length, alike)
      put(alike, letters, document)
    },
    to(query) {
      const letters = lettersOf(keyOf(query))
      if (letters.length < MIN_MISTYPED_CHARACTERS) return []
      const near: number[] = []
      for (const length of [letters.length - 1, letters.length, letters.length + 1])
        for (const [other, documents] of byLength.get(length) ?? [])
          if (isOneEdit(letters, other)) near.push(...documents)
      return near
    },
  }
}

function lettersOf(key: string): string {
  return key.replaceAll(' ', '')
}

/** Words that look like identifiers, without the punctuation around them. */
function identifiersOf(query: string): string[] {
  return query
    .split(/\s+/)
    .map(word => word.replace(/^[^\p{L}\p{N}_]+|[^\p{L}\p{N}_]+$/gu, ''))
    .filter(isIdentifier)
}

/** Whether a query is one word that may be a mistyped name. */
function mayBeMistyped(query: string): boolean {
  return isIdentifier(query) || /^\S{8,64}$/.test(query)
}

function isIdentifier(word: string): boolean {
  return word.length <= MAX_NAME_CHARACTERS && /^\S*([_\-./:]|[a-z][A-Z])\S*$/.test(word)
}

/** Adds a document to a key's list. Documents come in order, so a duplicate can only be the last one. */
function put(map: Map<string, number[]>, key: string, document: number): void {
  if (key === '') return
  const list = map.get(key)
  if (list === undefined) map.set(key, [document])
  else if (list.at(-1) !== document) list.push(document)
}
