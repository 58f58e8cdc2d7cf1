/** The vectors of an index in one block of memory, and their similarities to a query. Pure. */
import type { Vector } from '../../../core/catalog/vectors.ts'
import type { MakeDots } from '../../../core/encoder/dots.ts'
import type { VectorTable } from './search-index.ts'

/**
 * `vectors` in the order of the documents, undefined for those not encoded yet; a vector whose dimensions differ from the first
 * one's is ignored. `isFamiliar`: they are the embedded encoder's. Takes a millisecond or two for 10,000 vectors.
 */
export function createVectorTable(
  vectors: readonly (Vector | undefined)[],
  makeDots: MakeDots,
  isFamiliar = true,
): VectorTable {
  const dimensions = vectors.find(vector => vector !== undefined)?.values.length ?? 0
  const dots = makeDots(vectors.length, dimensions)
  const scales = new Float32Array(vectors.length).fill(Number.NaN)
  let pending = 0
  for (const [at, vector] of vectors.entries())
    if (vector?.values.length === dimensions) {
      dots.memory.set(vector.values, at * dimensions)
      scales[at] = vector.scale
    } else pending++
  const similarities = new Float32Array(vectors.length)
  return {
    pending,
    isFamiliar,
    isKnown: document => !Number.isNaN(scales[document]),
    similarities(query) {
      if (query.values.length !== dimensions) return similarities.fill(Number.NaN)
      const products = dots.multiply(query.values)
      for (let at = 0; at < similarities.length; at++)
        similarities[at] = (products[at] as number) * query.scale * (scales[at] as number)
      return similarities
    },
  }
}
