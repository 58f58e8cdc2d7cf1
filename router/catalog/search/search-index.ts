/** The interface of a search index. It searches by words, and also by meaning if it is given vectors. */
import type { Vector } from '../../../core/catalog/vectors.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { ExplainedFeature } from './confidence.ts'

/** One thing that can be found; see documents.ts. Its id is its position in the array that the index was built from. */
export type SearchDocument = {
  /** Absent for a tool. */
  kind?: 'resource' | 'template' | 'prompt'
  server: string
  serverTitle?: string
  serverDescription?: string
  /** From the manifest: the server's category and keywords. */
  serverKeywords?: string[]
  /** What the upstream calls itself, and what it tells agents. */
  upstreamTitle?: string
  instructions?: string
  tool: string
  title?: string
  description?: string
  inputSchema?: JsonObject
  /** Of a resource or a template. */
  uri?: string
  /** From the manifest: the tool's own category and keywords. */
  keywords: string[]
}

export interface SearchIndex {
  readonly documents: readonly SearchDocument[]
  /** Best first. Never throws, whatever the query. Documents that `visible` refuses are left out before ranking. */
  search(query: string, options: SearchOptions): SearchAnswer
  /** The text to encode for a query: its translation if it is in another language, otherwise the query with misspelt and abbreviated words corrected. */
  queryText(query: string): string
  /** Explains the results of `search`; slower than it. */
  explain(query: string, options: SearchOptions): Explanation
}

export type SearchOptions = {
  /** The maximum number of hits. */
  limit: number
  visible?: (document: number) => boolean
  /** To search by meaning too: the vector of the result of `queryText`, and those of the documents. */
  meaning?: { query: Vector; documents: VectorTable }
}

/** The vectors of the documents of an index; some may be missing. Immutable. */
export interface VectorTable {
  /** The number of documents without a vector yet. */
  readonly pending: number
  /** Whether the vectors are the embedded encoder's, whose similarities the confidence was learned from. */
  readonly isFamiliar: boolean
  /** Whether a document's vector is known. */
  isKnown(document: number): boolean
  /** Similarity (cosine, -1 to 1) of every document to the query; NaN where its vector is not known. A view: the next query overwrites it. */
  similarities(query: Vector): Float32Array
}

export type SearchAnswer = {
  hits: SearchHit[]
  /** How many of the visible documents that matched are not weak. */
  total: number
  /** Well-known products that the query names, but no server and not the first hit; absent if there are none. */
  absent?: readonly string[]
}

export type SearchHit = {
  document: number
  /** The confidence in the first hit, times the share of its score; 0 to 1, 1 for an exact name. */
  relevance: number
  /** Most likely not what was meant: nothing fits the query, or others fit much better. */
  weak: boolean
  /** The query named this tool exactly. */
  exact: boolean
}

/** How the ranking understood a query, and the parts of the score of each hit. Plain JSON. */
export type Explanation = {
  query: string
  /** The query in English, where it is in another language. */
  english?: string
  terms: ExplainedTerm[]
  /** Classes of actions that the query asks for: `create`, `list`. */
  actions: string[]
  /** Share of the query's weight that the document with the best lexical score covers, 0 to 1. */
  coverage: number
  /** How likely the first hit does what is asked, the threshold below which it is weak, and the effects of the features, the greatest first; absent without hits. */
  confidence?: { value: number; threshold: number; features: ExplainedFeature[] }
  /** The similarities that are mapped to 1 and to 0; absent without vectors. */
  similarity?: { max: number; min: number }
  /** Documents without a vector yet; absent without vectors. */
  pending?: number
  hits: ExplainedHit[]
  total: number
}

/** One word of the query, or two neighbours written as one. */
export type ExplainedTerm = {
  term: string
  /** As it was written first. */
  word: string
  /** How often it counts. */
  count: number
  /** What may stand for it in a document, itself included, heaviest first: weight 0 to 1, how many documents contain it, and its inverse document frequency. */
  alternatives: { term: string; weight: number; documents: number; rarity: number }[]
}

export type ExplainedHit = {
  server: string
  tool: string
  kind?: SearchDocument['kind']
  relevance: number
  weak: boolean
  /** How exactly the query names it; absent if it does not. */
  named?: 'path' | 'name' | 'words' | 'word' | 'nearly'
  /** The terms of the query that it contains: the matching alternative, the fields that contain it, and the score. */
  matched: { term: string; by: string; fields: string[]; score: number }[]
  /** Factor on the sum of these scores: how much of its name the query covers. */
  nameFactor: number
  /** Added after that: the share of its server. */
  serverScore: number
  /** The resulting lexical score, divided by the best one, 0 to 1. With vectors, its server's share counts less, and all of it less if the coverage is low. */
  lexical: number
  /** Similarity to the query; absent without a vector. */
  cosine?: number
  /** The similarity mapped to 0 to 1; without a vector, the lexical score. */
  semantic?: number
  /** Factor on the combined score: whether it does what the query asks for, to one object or to many as asked. */
  actionFactor: number
  /** What hits are ordered by, unless the query names one. */
  score: number
}
