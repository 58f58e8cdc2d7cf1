/** The exact rule: queries that name a tool, in whatever form, and the tools they name. Pure. */
import { isOneEdit } from './edits.ts'
import type { SearchDocument } from './search-index.ts'
import { splitIdentifier } from './text.ts'

export type Names = {
  add(document: number, content: SearchDocument): void
  /** The tools that a query names, each with how exactly: higher is more exact. Empty for a query that names none. */
  named(query: string): ReadonlyMap<number, number>
}

const EXACTNESS = { path: 5, name: 4, key: 3, word: 2 }
/** The query is a name or path with one slip of the finger. */
export const NEARLY = 1
/** Longest word that may be the name of a tool. */
const MAX_NAME_CHARACTERS = 256
/** Shorter names are too like each other to be taken for one another. */
const MIN_MISTYPED_CHARACTERS = 6

export function createNames(): Names {
  const paths = new Map<string, number[]>()
  const names = new Map<string, number[]>()
  const keys = new Map<string, number[]>()
  return {
    add(document, { server, serverTitle, tool, title }) {
      put(paths, `${server}:${tool}`, document)
      put(paths, `${server}__${tool}`, document)
      put(paths, `${server} ${tool}`, document)
      put(names, tool, document)
      const toolKeys = new Set([tool, title ?? tool].map(keyOf))
      for (const key of toolKeys)
        for (const server_ of new Set(['', keyOf(server), keyOf(serverTitle ?? server)]))
          put(keys, `${server_} ${key}`.trim(), document)
    },
    named(query) {
      const named = new Map<number, number>()
      const take = (list: number[] | undefined, exactness: number) => {
        for (const document of list ?? []) named.set(document, Math.max(exactness, named.get(document) ?? 0))
      }
      const whole = query.trim()
      take(paths.get(whole), EXACTNESS.path)
      take(names.get(whole), EXACTNESS.name)
      take(keys.get(keyOf(whole)), EXACTNESS.key)
      if (named.size === 0)
        for (const word of identifiersOf(whole)) take(keys.get(keyOf(word)), EXACTNESS.word)
      if (named.size === 0 && mayBeMistyped(whole)) take(nearTo(keys, keyOf(whole)), NEARLY)
      return named
    },
  }
}

/** An identifier as its words: `createIssue`, `create_issue` and `Create issue` have one key. */
function keyOf(name: string): string {
  return splitIdentifier(name.trim()).toLowerCase().replace(/\s+/g, ' ').trim()
}

function nearTo(keys: ReadonlyMap<string, number[]>, key: string): number[] {
  if (key.length < MIN_MISTYPED_CHARACTERS) return []
  const near: number[] = []
  for (const [other, documents] of keys) if (isOneEdit(key, other)) near.push(...documents)
  return near
}

/** Words that look like identifiers, without the punctuation around them. */
function identifiersOf(query: string): string[] {
  return query
    .split(/\s+/)
    .map(word => word.replace(/^[^\p{L}\p{N}_]+|[^\p{L}\p{N}_]+$/gu, ''))
    .filter(isIdentifier)
}

function mayBeMistyped(query: string): boolean {
  return isIdentifier(query) || /^\S{8,64}$/.test(query)
}

function isIdentifier(word: string): boolean {
  return word.length <= MAX_NAME_CHARACTERS && /^\S*([_\-./:]|[a-z][A-Z])\S*$/.test(word)
}

/** Documents come in order, so the same one can only be the last. */
function put(map: Map<string, number[]>, key: string, document: number): void {
  if (key === '') return
  const list = map.get(key)
  if (list === undefined) map.set(key, [document])
  else if (list.at(-1) !== document) list.push(document)
}
