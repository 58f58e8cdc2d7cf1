/** The one model that is embedded, all-MiniLM-L6-v2 (Apache-2.0): its names, its shape and the tensors of its file. Pure. */

/** Names the weights; a model file begins with it. */
export const MODEL_ID = 'all-MiniLM-L6-v2/int8'
/** Grows with each change of the way of encoding, or of the texts that are encoded (core/catalog/search-text.ts). */
export const ENCODER_ID = `${MODEL_ID}/1`

export const LAYERS = 6
export const DIMENSIONS = 384
/** Of the feed-forward part. */
export const INNER_DIMENSIONS = 1536
export const VOCABULARY_WORDS = 30_522
/** A longer text is cut; the model itself was trained on texts of 128. */
export const MAX_TOKENS = 128

/** Every tensor begins at a multiple of this, as wide as the kernels read. */
const ALIGNMENT_BYTES = 16

/** Matrices are int8 with a float32 scale a row, all else is float32. */
export type TensorShape = { name: string; bytes: number }

/** Where each tensor begins within the `bytes` of all. */
export type ModelLayout = { offsets: ReadonlyMap<string, number>; bytes: number }

/** Half of the model, and a text needs some fifty rows of it: they are read from the file when they are. */
export const WORD_WEIGHTS: TensorShape = { name: 'words.weights', bytes: VOCABULARY_WORDS * DIMENSIONS }

/** All others, in the order of the file. */
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
