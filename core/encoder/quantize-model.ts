/** Makes the model file from the published weights and the adapter: int8 with one scale per row. Pure. */
import { Fault } from '../errors.ts'
import { adapted } from './adapter.ts'
import { DIMENSIONS, INNER_DIMENSIONS, LAYERS, MAX_TOKENS, VOCABULARY_WORDS } from './minilm.ts'
import { writeModel } from './model-file.ts'
import { readSafetensors, type TensorReader } from './safetensors.ts'

/** Number of positions in the published model. */
const PUBLISHED_POSITIONS = 512
const MAX_INT8 = 127
/** Adding and subtracting this number rounds a double to the nearest integer, halves to even. */
const ROUNDING = 1.5 * 2 ** 52

type Tensors = Map<string, Uint8Array>

/**
 * Returns the bytes of a model file (23 MB) from the weights (`model.safetensors`) and vocabulary (`vocab.txt`) of all-MiniLM-L6-v2,
 * and the adapter. Equal input gives equal bytes. Throws Fault `io` if they belong to another model.
 */
export function makeModel(safetensors: Uint8Array, vocabulary: Uint8Array, adapter: Uint8Array): Uint8Array {
  checkVocabulary(vocabulary)
  const read = adapted(readSafetensors(safetensors), adapter)
  const tensors: Tensors = new Map()
  const words = read('embeddings.word_embeddings.weight', [VOCABULARY_WORDS, DIMENSIONS])
  putMatrix(tensors, 'words', words, VOCABULARY_WORDS)
  put(tensors, 'positions', positions(read))
  putNorm(tensors, 'wordsNorm', read, 'embeddings.LayerNorm')
  for (let layer = 0; layer < LAYERS; layer++) putLayer(tensors, layer, read)
  return writeModel(tensors, vocabulary)
}

/** The numbers of the tokens must be those that the weights were trained with. */
function checkVocabulary(vocabulary: Uint8Array): void {
  const words = new TextDecoder().decode(vocabulary).trimEnd().split('\n')
  if (words.length !== VOCABULARY_WORDS)
    throw new Fault(
      'io',
      `The vocabulary has ${words.length} words, not ${VOCABULARY_WORDS}: it belongs to another model`,
    )
}

function putLayer(tensors: Tensors, layer: number, read: TensorReader): void {
  const from = `encoder.layer.${layer}`
  const linear = (to: string, names: string[], rows: number, columns: number) => {
    const weights = joined(names.map(name => read(`${from}.${name}.weight`, [rows, columns])))
    putMatrix(tensors, `${layer}.${to}`, weights, rows * names.length)
    put(tensors, `${layer}.${to}.bias`, joined(names.map(name => read(`${from}.${name}.bias`, [rows]))))
  }
  const attention = ['query', 'key', 'value'].map(name => `attention.self.${name}`)
  linear('attention', attention, DIMENSIONS, DIMENSIONS)
  linear('projection', ['attention.output.dense'], DIMENSIONS, DIMENSIONS)
  putNorm(tensors, `${layer}.attentionNorm`, read, `${from}.attention.output.LayerNorm`)
  linear('widening', ['intermediate.dense'], INNER_DIMENSIONS, DIMENSIONS)
  linear('narrowing', ['output.dense'], DIMENSIONS, INNER_DIMENSIONS)
  putNorm(tensors, `${layer}.outputNorm`, read, `${from}.output.LayerNorm`)
}

/** The position embeddings, each with the embedding of the first token type added, because all texts have that type. */
function positions(read: TensorReader): Float32Array {
  const places = read('embeddings.position_embeddings.weight', [PUBLISHED_POSITIONS, DIMENSIONS])
  const types = read('embeddings.token_type_embeddings.weight', [2, DIMENSIONS])
  return places
    .subarray(0, MAX_TOKENS * DIMENSIONS)
    .map((value, at) => value + (types[at % DIMENSIONS] as number))
}

function putNorm(tensors: Tensors, to: string, read: TensorReader, from: string): void {
  put(tensors, `${to}.gain`, read(`${from}.weight`, [DIMENSIONS]))
  put(tensors, `${to}.bias`, read(`${from}.bias`, [DIMENSIONS]))
}

/** Scales each row so that its greatest absolute value becomes 127. */
function putMatrix(tensors: Tensors, to: string, values: Float32Array, rows: number): void {
  const columns = values.length / rows
  const weights = new Int8Array(values.length)
  const scales = new Float32Array(rows)
  for (let row = 0; row < rows; row++) {
    const start = row * columns
    const scale = scaleOf(values.subarray(start, start + columns))
    scales[row] = scale
    for (let at = start; at < start + columns; at++)
      weights[at] = Math.fround((values[at] as number) / scale) + ROUNDING - ROUNDING
  }
  put(tensors, `${to}.weights`, weights)
  put(tensors, `${to}.scales`, scales)
}

function scaleOf(row: Float32Array): number {
  let max = 0
  for (const value of row) max = Math.max(max, Math.abs(value))
  return Math.fround(max / MAX_INT8) || 1
}

function put(tensors: Tensors, name: string, values: Float32Array | Int8Array): void {
  tensors.set(name, new Uint8Array(values.buffer, values.byteOffset, values.byteLength))
}

function joined(parts: Float32Array[]): Float32Array {
  const whole = new Float32Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
