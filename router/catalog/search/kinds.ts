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

/** Reads the kinds when the first query is compared with them, which takes some milliseconds. */
export function createNearKinds(): NearKindsReader {
  let known: { dimensions: number; table: VectorTable } | undefined
  let last: { query: Vector; similarities: Float32Array } | undefined
  return (query, similarity) => {
    known ??= tableOf(readKinds())
    if (query.values.length !== known.dimensions) return undefined
    // A search compares the same vector twice: for its tools, and for its resources and prompts.
    if (last?.query !== query) last = { query, similarities: known.table.similarities(query) }
    const { similarities } = last
    const nearest = greatestOf(similarities, AVERAGED_KINDS)
    let nearer = 0
    for (const value of similarities) if (value > similarity) nearer++
    return {
      nearest: nearest.at(-1) ?? 0,
      meanOfNearest: nearest.reduce((sum, value) => sum + value, 0) / AVERAGED_KINDS,
      nearer,
    }
  }
}

/** The `count` greatest values, ascending; sorting all of them would take as long as the rest of a search. */
function greatestOf(values: Float32Array, count: number): number[] {
  const greatest: number[] = []
  for (const value of values) {
    if (greatest.length === count && value <= (greatest[0] as number)) continue
    if (greatest.length === count) greatest.shift()
    let at = greatest.length
    while (at > 0 && (greatest[at - 1] as number) > value) at--
    greatest.splice(at, 0, value)
  }
  return greatest
}

function tableOf(kinds: Kinds): { dimensions: number; table: VectorTable } {
  return { dimensions: kinds.dimensions, table: createVectorTable(unitVectors(kinds), prepareDots()) }
}

/** The vectors of the kinds, scaled to length 1 as those of tools and queries are. */
function unitVectors({ components, dimensions }: Kinds): Vector[] {
  return Array.from({ length: components.length / dimensions }, (_, kind) => {
    const values = components.subarray(kind * dimensions, (kind + 1) * dimensions)
    return { values, scale: 1 / Math.sqrt(sumOfSquares(values)) }
  })
}

/** For a few hundred components Math.hypot takes ten times as long. */
function sumOfSquares(values: Int8Array): number {
  let sum = 0
  for (const value of values) sum += value * value
  return sum
}
