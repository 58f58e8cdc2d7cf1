/** The embedded model, all-MiniLM-L6-v2 (Apache-2.0) with the adapter: its ids, dimensions and tensors. Pure. */
import { ADAPTER_ID } from './model-name.mjs'

/** Identifies the weights, the adapter included; the header of a model file contains it. */
export const MODEL_ID = `all-MiniLM-L6-v2/int8/${ADAPTER_ID}`
/** Increment the last number if the method of encoding, or the encoded texts (core/catalog/search-text.ts), change. */
export const ENCODER_ID = `${MODEL_ID}/1`

export const LAYERS = 6
export const DIMENSIONS = 384
/** Dimensions of the feed-forward part. */
export const INNER_DIMENSIONS = 1536
export const VOCABULARY_WORDS = 30_522
/** Longer texts are truncated; the model was trained on texts of 128 tokens. */
export const MAX_TOKENS = 128

/** Every tensor begins at a multiple of this: the width of the kernels' vectors. */
const ALIGNMENT_BYTES = 16

/** Matrices are int8 with one float32 scale per row; all other tensors are float32. */
export type TensorShape = { name: string; bytes: number }

/** The offset of each tensor, and the total size. */
export type ModelLayout = { offsets: ReadonlyMap<string, number>; bytes: number }

/** Half of the model's size. A text needs only about fifty of its rows, so these are read from the file on demand. */
export const WORD_WEIGHTS: TensorShape = { name: 'words.weights', bytes: VOCABULARY_WORDS * DIMENSIONS }

/** All other tensors, in the order of the file. */
export function modelTensors(): TensorShape[] {
  const layers = Array.from({ length: LAYERS }, (_, layer) => [
    ...matrix(`${layer}.attention`, 3 * DIMENSIONS, DIMENSIONS),
    ...matrix(`${layer}.projection`, DIMENSIONS, DIMENSIONS),
    ...norm(`${layer}.attentionNorm`),
    ...matrix(`${layer}.widening`, INNER_DIMENSIONS, DIMENSIONS),
    ...matrix(`${layer}.narrowing`, DIMENSIONS, INNER_DIMENSIONS),
    ...norm(`${layer}.outputNorm`),
  ])
  return [
    { name: 'words.scales', bytes: VOCABULARY_WORDS * 4 },
    { name: 'positions', bytes: MAX_TOKENS * DIMENSIONS * 4 },
    ...norm('wordsNorm'),
    ...layers.flat(),
  ]
}

export function modelLayout(): ModelLayout {
  const offsets = new Map<string, number>()
  let bytes = 0
  for (const tensor of modelTensors()) {
    offsets.set(tensor.name, bytes)
    bytes = aligned(bytes + tensor.bytes)
  }
  return { offsets, bytes }
}

/** The next multiple of 16. */
export function aligned(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT_BYTES) * ALIGNMENT_BYTES
}

function matrix(name: string, rows: number, columns: number): TensorShape[] {
  return [
    { name: `${name}.weights`, bytes: rows * columns },
    { name: `${name}.scales`, bytes: rows * 4 },
    { name: `${name}.bias`, bytes: rows * 4 },
  ]
}

function norm(name: string): TensorShape[] {
  return ['gain', 'bias'].map(part => ({ name: `${name}.${part}`, bytes: DIMENSIONS * 4 }))
}
