/**
 * Writes what tools of many kinds are like: vectors in the midst of the tools of every second server of the training data.
 * `node scripts/training/kinds.ts`: some minutes; needs the model (`npx portolan model`). Run it once the model is made anew, before
 * confidence.ts, which asks queries in the tools of the other servers.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { quantize, type Vector } from '../../core/catalog/vectors.ts'
import { DIMENSIONS } from '../../core/encoder/minilm.ts'
import { ADAPTER_SHA256 } from '../../core/encoder/model-name.mjs'
import { kindsCatalog } from '../../test/search/held-out.ts'
import { openEncoder, textOf } from '../../test/search/meaning.ts'

const FILE = join(import.meta.dirname, '..', '..', 'router', 'catalog', 'search', 'data', 'kinds.json')
const KINDS = 800
const ROUNDS = 5

/** Spherical k-means from every n-th vector. */
function midstOf(vectors: readonly Float64Array[]): Float64Array[] {
  let midst = Array.from({ length: KINDS }, (_, kind) => vectors[Math.floor((kind * vectors.length) / KINDS)])
  for (let round = 0; round < ROUNDS; round++) {
    const groups = Map.groupBy(vectors, vector => nearestOf(midst as Float64Array[], vector))
    midst = midst.map((known, kind) => unitOf(sumOf(groups.get(kind) ?? [known as Float64Array])))
  }
  return midst as Float64Array[]
}

function nearestOf(midst: readonly Float64Array[], vector: Float64Array): number {
  let [best, nearest] = [-1, 0]
  for (const [kind, own] of midst.entries()) {
    let similarity = 0
    for (let at = 0; at < vector.length; at++) similarity += (vector[at] as number) * (own[at] as number)
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
const midst = midstOf(vectors.map(componentsOf)).map(vector => Buffer.from(quantize(vector).values.buffer))
const from = { script: 'scripts/training/kinds.ts', adapter: ADAPTER_SHA256, tools: documents.length }
const components = Buffer.concat(midst).toString('base64')
writeFileSync(FILE, `${JSON.stringify({ dimensions: DIMENSIONS, components, from }, undefined, 1)}\n`)
