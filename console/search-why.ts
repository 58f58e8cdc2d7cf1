/** Explains in words why a search found a tool or did not find it. Pure. */
import type { JsonObject } from '../core/json.ts'

/** The gateway's explanation of a search; see `Explanation` of the search index. */
export type Explained = {
  query: string
  english?: string
  actions: string[]
  coverage: number
  confidence?: { value: number; threshold: number }
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
  matched: { term: string; by: string; fields: string[]; score: number }[]
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

/** Names of the fields of a tool's text, for people. */
const FIELDS: Readonly<Record<string, string>> = {
  server: "server's name",
  parameters: 'arguments',
  parameterTexts: "arguments' texts",
  serverDescription: "server's description",
}

/** The words of the query that a hit has, and in which fields: `files (name, description)`; `dir as directory (name)`. */
export function matchedWords({ terms }: Explained, { matched }: Hit): string[] {
  const wordOf = new Map(terms.map(({ term, word }) => [term, word]))
  return matched
    .toSorted((a, b) => b.score - a.score)
    .map(({ term, by, fields }) => {
      const word = wordOf.get(term) ?? term
      return `${by === term ? word : `${word} as ${by}`} (${fields.map(field => FIELDS[field] ?? field).join(', ')})`
    })
}

/** The words of the query that the hit does not have. */
export function missedWords({ terms }: Explained, { matched }: Hit): string[] {
  const known = new Set(matched.map(({ term }) => term))
  return terms.filter(({ term }) => !known.has(term)).map(({ word }) => word)
}

/** The words of the query that no tool has. */
export function unknownWords({ terms }: Explained): string[] {
  return terms
    .filter(({ alternatives }) => alternatives.every(({ documents }) => documents === 0))
    .map(({ word }) => word)
}

/** Why a tool is not in an answer, in one sentence. `hiddenState`: the state of its server, if its tools are hidden. */
export function whyNot(
  explained: Explained,
  path: string,
  limit: number,
  facts: { isKnown: boolean; isHeld?: boolean; hiddenState?: string },
): string {
  const rank = explained.hits.findIndex(hit => pathOf(hit) === path)
  const hit = explained.hits[rank]
  if (facts.isHeld) return 'It is held until its change is approved: until then agents do not find it.'
  if (facts.hiddenState !== undefined)
    return `Its server is ${facts.hiddenState}: until this changes, agents do not find its tools.`
  if (!facts.isKnown) return `There is no tool "${path}" here, or this caller may not see it.`
  if (!hit)
    return `It is not among the first ${explained.hits.length}: other tools fit the query's words and meaning better. Add words to its description, or keywords in spec.tools.overrides of its manifest.`
  const best = explained.hits[0] ?? hit
  const missed = missedWords(explained, hit)
  const lacks = missed.length > 0 ? ` It lacks ${missed.map(word => `"${word}"`).join(', ')}.` : ''
  if (rank < limit && !hit.weak)
    return `It is found: number ${rank + 1}, with a score of ${hit.score.toFixed(2)}.${lacks}`
  const weak = hit.weak ? ' It is a weak hit, probably not what is meant.' : ''
  return `It is number ${rank + 1}, with a score of ${hit.score.toFixed(2)}; the first has ${best.score.toFixed(2)}.${weak}${lacks}`
}

/** A line of a query file for `portolan eval`. */
export function labelledQuery(query: string, paths: readonly string[]): string {
  const relevant = paths.map((path): JsonObject => {
    const [server = '', ...tool] = path.split(':')
    return { server, tool: tool.join(':') }
  })
  return `- ${JSON.stringify({ query, relevant })}`
}
