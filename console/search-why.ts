/** Why a search found what it found, in words and shares. Pure. */
import type { JsonObject } from '../core/json.ts'

/** As the gateway explains a search; see its search index. */
export type Explained = {
  query: string
  english?: string
  actions: string[]
  cover: number
  confidence?: { value: number; least: number }
  pending?: number
  terms: { word: string; term: string; alternatives: { term: string; documents: number }[] }[]
  hits: Hit[]
  total: number
}

export type Hit = {
  server: string
  tool: string
  weak: boolean
  named?: string
  met: { term: string; by: string; fields: string[]; score: number }[]
  nameFactor: number
  serverScore: number
  lexical: number
  cosine?: number
  semantic?: number
  actionFactor: number
  score: number
}

export function pathOf({ server, tool }: Hit): string {
  return `${server}:${tool}`
}

/** The fields of a tool's text, as one reads them. */
const FIELDS: Readonly<Record<string, string>> = {
  server: "server's name",
  parameters: 'arguments',
  parameterTexts: "arguments' texts",
  serverDescription: "server's description",
}

/** What of a query a hit met, and where, in the query's own words: `files (name, description)`; `dir as directory (name)`. */
export function metWords({ terms }: Explained, { met }: Hit): string[] {
  const wordOf = new Map(terms.map(({ term, word }) => [term, word]))
  return met
    .toSorted((a, b) => b.score - a.score)
    .map(({ term, by, fields }) => {
      const word = wordOf.get(term) ?? term
      return `${by === term ? word : `${word} as ${by}`} (${fields.map(field => FIELDS[field] ?? field).join(', ')})`
    })
}

/** What no part of the query's words met. */
export function missedWords({ terms }: Explained, { met }: Hit): string[] {
  const known = new Set(met.map(({ term }) => term))
  return terms.filter(({ term }) => !known.has(term)).map(({ word }) => word)
}

/** Words of the query that no tool has. */
export function unknownWords({ terms }: Explained): string[] {
  return terms
    .filter(({ alternatives }) => alternatives.every(({ documents }) => documents === 0))
    .map(({ word }) => word)
}

/** Why a tool is not in an answer, in one sentence. `state`: of its server, if it is hidden. */
export function whyNot(
  explained: Explained,
  path: string,
  limit: number,
  facts: { isKnown: boolean; hiddenState?: string },
): string {
  const rank = explained.hits.findIndex(hit => pathOf(hit) === path)
  const hit = explained.hits[rank]
  if (facts.hiddenState !== undefined)
    return `Its server is ${facts.hiddenState}: until it is well again, agents do not find its tools.`
  if (!facts.isKnown) return `There is no tool "${path}" here, or this caller may not see it.`
  if (!hit)
    return `It is not among the first ${explained.hits.length}: none of the query's words leads to it, and its meaning is far from the query's. Words in its description, or keywords in spec.tools.overrides of its manifest, would help.`
  const best = explained.hits[0] ?? hit
  const missed = missedWords(explained, hit)
  const lacks = missed.length > 0 ? ` It does not have ${missed.map(word => `"${word}"`).join(', ')}.` : ''
  if (rank < limit && !hit.weak)
    return `It is found: number ${rank + 1}, with ${hit.score.toFixed(2)}.${lacks}`
  const weak = hit.weak ? ' It counts as weak: probably not what is meant.' : ''
  return `It is number ${rank + 1}, with ${hit.score.toFixed(2)} where the first has ${best.score.toFixed(2)}.${weak}${lacks}`
}

/** A line of a file for `portolan eval`. */
export function labelledQuery(query: string, paths: readonly string[]): string {
  const relevant = paths.map((path): JsonObject => {
    const [server = '', ...tool] = path.split(':')
    return { server, tool: tool.join(':') }
  })
  return `- ${JSON.stringify({ query, relevant })}`
}
