/**
 * Writes vectors that stand for many kinds of tools: the cluster centres of the tools of every second server of the training data.
 * `node scripts/training/kinds.ts` takes some minutes, and needs the model (`npx portolan model`). Run it after the model has changed,
 * before confidence.ts, which uses the tools of the other servers.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { quantize, type Vector } from '../../core/catalog/vectors.ts'
import { DIMENSIONS } from '../../core/encoder/minilm.ts'
import { ADAPTER_SHA256 } from '../../core/encoder/model-name.mjs'
import { kindsCatalog } from '../../test/search/held-out.ts'
import { openEncoder, textOf } from '../../test/search/meaning.ts'

const FILE = join(import.meta.dirname, '..', '..', 'router', 'catalog', 'search', 'data', 'kinds.json')
const KINDS = 1_700
const ROUNDS = 5

/** Spherical k-means; evenly spaced vectors are the initial centres. */
function centresOf(vectors: readonly Float64Array[]): Float64Array[] {
  let centres = Array.from(
    { length: KINDS },
    (_, kind) => vectors[Math.floor((kind * vectors.length) / KINDS)] as Float64Array,
  )
  for (let round = 0; round < ROUNDS; round++) {
    const groups = Map.groupBy(vectors, vector => nearestOf(centres, vector))
    centres = centres.map((centre, kind) => unitOf(sumOf(groups.get(kind) ?? [centre])))
  }
  return centres
}

/** The index of the centre with the greatest cosine similarity; all vectors have length 1. */
function nearestOf(centres: readonly Float64Array[], vector: Float64Array): number {
  let [best, nearest] = [-1, 0]
  for (const [kind, centre] of centres.entries()) {
    let similarity = 0
    for (let at = 0; at < vector.length; at++) similarity += (vector[at] as number) * (centre[at] as number)
    if (similarity > best) [best, nearest] = [similarity, kind]
  }
  return nearest
}

function sumOf(vectors: readonly Float64Array[]): Float64Array {
  return (vectors[0] as Float64Array).map((_, at) =>
    vectors.reduce((sum, vector) => sum + (vector[at] as number), 0),
  )
}

function unitOf(vector: Float64Array): Float64Array {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  return vector.map(value => value / length)
}

function componentsOf({ values }: Vector): Float64Array {
  return unitOf(Float64Array.from(values))
}

const documents = kindsCatalog()
const encoder = await openEncoder()
const vectors = await encoder.encodeTexts(documents.map(textOf), new AbortController().signal)
await encoder.close()
const centres = centresOf(vectors.map(componentsOf)).map(vector =>
  Buffer.from(quantize(vector).values.buffer),
)
const from = { script: 'scripts/training/kinds.ts', adapter: ADAPTER_SHA256, tools: documents.length }
const components = Buffer.concat(centres).toString('base64')
writeFileSync(FILE, `${JSON.stringify({ dimensions: DIMENSIONS, components, from }, undefined, 1)}\n`)
