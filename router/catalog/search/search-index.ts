/** What a search index takes and gives; the lexical layer implements it, a semantic layer will join. */
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
  search(query: string, options: { limit: number; visible?: (document: number) => boolean }): SearchAnswer
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
