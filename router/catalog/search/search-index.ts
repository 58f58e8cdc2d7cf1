/** What a search index takes and gives: words always, meaning too where the query's vector is given. */
import type { Vector } from '../../../core/catalog/vectors.ts'
import type { JsonObject } from '../../../core/json.ts'

/** One thing that can be found. Its id is its position in the array that the index was built from. */
export type SearchDocument = {
  server: string
  serverTitle?: string
  serverDescription?: string
  tool: string
  title?: string
  description?: string
  inputSchema?: JsonObject
  /** From the manifest: server keywords, category, and the tool's own. */
  keywords: string[]
}

export interface SearchIndex {
  readonly documents: readonly SearchDocument[]
  /** Best first. Never throws, whatever the query. Documents that `visible` refuses are left out before ranking. */
  search(query: string, options: SearchOptions): SearchAnswer
}

export type SearchOptions = {
  limit: number
  visible?: (document: number) => boolean
  /** By meaning too: the query's vector, and those of the documents. */
  meaning?: { query: Vector; documents: VectorTable }
}

/** The vectors of the documents of an index, as far as they are known. Immutable. */
export interface VectorTable {
  /** Documents whose vector is still to come. */
  readonly pending: number
  /** Similarity (cosine, -1 to 1) of every document to the query; NaN where its vector is not known. A view: the next query overwrites it. */
  similarities(query: Vector): Float32Array
}

export type SearchAnswer = {
  hits: SearchHit[]
  /** How many visible documents matched at all. */
  total: number
}

export type SearchHit = {
  document: number
  /** 0 to 1, higher is better; 1 for an exact name. */
  relevance: number
  /** Below the threshold under which a match is probably none. */
  weak: boolean
  /** The query named this tool exactly. */
  exact: boolean
}
