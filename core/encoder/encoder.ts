/** What turns texts into vectors that are near where the meanings are: the embedded model, or a service. */
import type { SearchText } from '../catalog/search-text.ts'
import type { Vector } from '../catalog/vectors.ts'

export interface SentenceEncoder {
  /** Names all that makes its vectors (model, weights, way of encoding): those of equal ids can be compared. */
  readonly id: string
  /** Of a query, ahead of all documents that wait. Throws Fault `unavailable`, or `cancelled`. */
  encodeQuery(text: string, signal?: AbortSignal): Promise<Vector>
  /** In order. Throws as encodeQuery; what was done by then is not lost where there is a cache. */
  encodeTexts(texts: readonly SearchText[], signal: AbortSignal): Promise<Vector[]>
  close(): Promise<void>
}
