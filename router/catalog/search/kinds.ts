/** Compares a query with vectors of many kinds of tools, also of kinds that are not in the catalog (scripts/training/kinds.ts). */
import type { Vector } from '../../../core/catalog/vectors.ts'
import { prepareDots } from '../../../core/encoder/dots.ts'
import { type Kinds, readKinds } from '../../semantic/read-kinds.ts'
import type { VectorTable } from './search-index.ts'
import { createVectorTable } from './vectors.ts'

export type NearKinds = {
  /** Similarity (cosine) of the nearest kind, and the mean of the nearest few. */
  nearest: number
  meanOfNearest: number
  /** How many kinds are nearer to the query than a given similarity. */
  nearer: number
}

/** Undefined for a query's vector of other dimensions than the built-in encoder's. Takes less than a tenth of a millisecond. */
export type NearKindsReader = (query: Vector, similarity: number) => NearKinds | undefined

const AVERAGED_KINDS = 8

/** Reads the kinds when the first query is compared with them. */
export function createNearKinds(): NearKindsReader {
  let known: { dimensions: number; table: VectorTable } | undefined
  return (query, similarity) => {
    known ??= tableOf(readKinds())
    if (query.values.length !== known.dimensions) return undefined
    const similarities = known.table.similarities(query).toSorted()
    const nearest = similarities.subarray(-AVERAGED_KINDS)
    return {
      nearest: nearest.at(-1) ?? 0,
      meanOfNearest: nearest.reduce((sum, value) => sum + value, 0) / AVERAGED_KINDS,
      nearer: similarities.length - 1 - similarities.findLastIndex(value => value <= similarity),
    }
  }
}

function tableOf(kinds: Kinds): { dimensions: number; table: VectorTable } {
  return { dimensions: kinds.dimensions, table: createVectorTable(unitVectors(kinds), prepareDots()) }
}

/** The vectors of the kinds, scaled to length 1 as those of tools and queries are. */
function unitVectors({ components, dimensions }: Kinds): Vector[] {
  return Array.from({ length: components.length / dimensions }, (_, kind) => {
    const values = components.subarray(kind * dimensions, (kind + 1) * dimensions)
    return { values, scale: 1 / Math.hypot(...values) }
  })
}
