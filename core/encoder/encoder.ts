/** The interface of sentence encoders: they turn texts of similar meaning into similar vectors, by the embedded model or a service. */
import type { SearchText } from '../catalog/search-text.ts'
import type { Vector } from '../catalog/vectors.ts'

export interface SentenceEncoder {
  /** Identifies model, weights and method. Only vectors of encoders with the same id can be compared. */
  readonly id: string
  /** Encodes a query, before all waiting documents. Throws Fault `unavailable` or `cancelled`. */
  encodeQuery(text: string, signal?: AbortSignal): Promise<Vector>
  /** Encodes documents, in order. Throws as encodeQuery does; with a cache, vectors that are already computed are not lost. */
  encodeTexts(texts: readonly SearchText[], signal: AbortSignal): Promise<Vector[]>
  close(): Promise<void>
}
