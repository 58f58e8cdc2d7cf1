/** The forward pass of the model: computes the sentence vectors of tokenized texts, in short steps. */
import { type Kernel, loadKernel } from './kernel.ts'
import { type MemoryPlan, planMemory } from './memory.ts'
import { DIMENSIONS, INNER_DIMENSIONS, LAYERS, MAX_TOKENS, modelLayout } from './minilm.ts'
import type { ReadWord } from './model-file.ts'

/** The kernels process four rows at a time. */
const TILE_ROWS = 4
/** GELU is interpolated in a table from -8 to 8, with this number of values per unit. One more entry lets the interpolation read a neighbour. */
const GELU_STEPS = 256
const GELU_END = 8
const GELU_ENTRIES = 2 * GELU_END * GELU_STEPS + 2

/** Addresses of the intermediate results of one pass. Interleaved passes need one Scratch each. */
export type Scratch = {
  values: number
  wide: number
  quantized: number
  scales: number
  context: number
  scores: number
}

export type Transformer = {
  /** For one pass at a time, of texts with at most MAX_TOKENS tokens in total. */
  readonly documents: Scratch
  /** For a second pass, which may run between two steps of the first. */
  readonly query: Scratch
  /** Returns a unit vector for each text. Yields after each half layer: about 2 ms of work for 64 tokens. */
  encode(scratch: Scratch, texts: readonly Uint16Array[]): Generator<void, Float32Array[]>
}

type Model = {
  kernel: Kernel
  floats: Float32Array
  gelu: number
  at(tensor: string): number
  readWord: ReadWord
}
/** The rows of one text within a pass. */
type Part = { start: number; rows: number }

/** `load` fills the given array with the tensors (see minilm.ts). Throws Fault `io` if the kernels are missing. */
export function createTransformer(load: (tensors: Uint8Array) => void, readWord: ReadWord): Transformer {
  const plan = planMemory()
  const layout = modelLayout()
  const tensors = plan.reserve(layout.bytes)
  const gelu = plan.reserve(GELU_ENTRIES * 4)
  const documents = planScratch(plan)
  const query = planScratch(plan)
  const memory = plan.create()
  const kernel = loadKernel(memory)
  load(new Uint8Array(memory.buffer, tensors, layout.bytes))
  const floats = new Float32Array(memory.buffer)
  fillGelu(floats.subarray(gelu / 4, gelu / 4 + GELU_ENTRIES))
  const at = (tensor: string): number => tensors + (layout.offsets.get(tensor) as number)
  const model = { kernel, floats, gelu, at, readWord }
  return { documents, query, encode: (scratch, texts) => encode(model, scratch, texts) }
}

function* encode(
  model: Model,
  scratch: Scratch,
  texts: readonly Uint16Array[],
): Generator<void, Float32Array[]> {
  const parts: Part[] = []
  let end = 0
  for (const { length: rows } of texts) {
    parts.push({ start: end, rows })
    end += rows
  }
  const rows = Math.ceil(end / TILE_ROWS) * TILE_ROWS
  embed(model, scratch, texts, rows)
  for (let layer = 0; layer < LAYERS; layer++) {
    attend(model, scratch, layer, rows, parts)
    yield
    feedForward(model, scratch, layer, rows)
    yield
  }
  return parts.map(part => unitMean(model.floats, scratch.values / 4, part))
}

/** Sums the embeddings of each token and of its position. */
function embed(model: Model, { values }: Scratch, texts: readonly Uint16Array[], rows: number): void {
  const { floats, at, kernel, readWord } = model
  const [scales, positions] = [at('words.scales') / 4, at('positions') / 4]
  const word = new Int8Array(DIMENSIONS)
  let to = values / 4
  for (const tokens of texts)
    for (const [position, token] of tokens.entries()) {
      readWord(token, word)
      const place = positions + position * DIMENSIONS
      const scale = floats[scales + token] as number
      for (let column = 0; column < DIMENSIONS; column++)
        floats[to++] = (word[column] as number) * scale + (floats[place + column] as number)
    }
  floats.fill(0, to, values / 4 + rows * DIMENSIONS)
  kernel.normalize(rows, DIMENSIONS, values, at('wordsNorm.gain'), at('wordsNorm.bias'))
}

function attend(model: Model, scratch: Scratch, layer: number, rows: number, parts: readonly Part[]): void {
  const { kernel } = model
  const { values, wide, context, scores } = scratch
  multiply(model, scratch, `${layer}.attention`, rows, DIMENSIONS, 3 * DIMENSIONS, values, wide, 0)
  for (const { start, rows } of parts) {
    const joined = wide + start * 3 * DIMENSIONS * 4
    kernel.attend(rows, DIMENSIONS, joined, context + start * DIMENSIONS * 4, scores)
  }
  multiply(model, scratch, `${layer}.projection`, rows, DIMENSIONS, DIMENSIONS, context, values, 1)
  normalize(model, scratch, `${layer}.attentionNorm`, rows)
}

function feedForward(model: Model, scratch: Scratch, layer: number, rows: number): void {
  const { values, wide } = scratch
  multiply(model, scratch, `${layer}.widening`, rows, DIMENSIONS, INNER_DIMENSIONS, values, wide, 0)
  model.kernel.gelu(rows * INNER_DIMENSIONS, wide, model.gelu)
  multiply(model, scratch, `${layer}.narrowing`, rows, INNER_DIMENSIONS, DIMENSIONS, wide, values, 1)
  normalize(model, scratch, `${layer}.outputNorm`, rows)
}

function multiply(
  { kernel, at }: Model,
  { quantized, scales }: Scratch,
  matrix: string,
  rows: number,
  columns: number,
  outputs: number,
  from: number,
  to: number,
  add: 0 | 1,
): void {
  const [weights, weightScales, bias] = [
    at(`${matrix}.weights`),
    at(`${matrix}.scales`),
    at(`${matrix}.bias`),
  ]
  kernel.quantize(rows, columns, from, quantized, scales)
  kernel.multiply(rows, columns, outputs, quantized, scales, weights, weightScales, bias, to, add)
}

function normalize({ kernel, at }: Model, { values }: Scratch, norm: string, rows: number): void {
  kernel.normalize(rows, DIMENSIONS, values, at(`${norm}.gain`), at(`${norm}.bias`))
}

/** The mean of the vectors of all tokens, scaled to length 1. */
function unitMean(floats: Float32Array, values: number, { start, rows }: Part): Float32Array {
  const sum = new Float32Array(DIMENSIONS)
  let from = values + start * DIMENSIONS
  for (let row = 0; row < rows; row++)
    for (let at = 0; at < DIMENSIONS; at++) sum[at] = (sum[at] as number) + (floats[from++] as number)
  const length = Math.hypot(...sum) || 1
  return sum.map(value => value / length)
}

function planScratch({ reserve }: MemoryPlan): Scratch {
  return {
    values: reserve(MAX_TOKENS * DIMENSIONS * 4),
    wide: reserve(MAX_TOKENS * INNER_DIMENSIONS * 4),
    quantized: reserve(MAX_TOKENS * INNER_DIMENSIONS * 2),
    scales: reserve(MAX_TOKENS * 4),
    context: reserve(MAX_TOKENS * DIMENSIONS * 4),
    scores: reserve(MAX_TOKENS * 4),
  }
}

function fillGelu(table: Float32Array): void {
  for (const entry of table.keys()) {
    const x = entry / GELU_STEPS - GELU_END
    table[entry] = (x / 2) * (1 + errorFunction(x / Math.SQRT2))
  }
}

/** erf(x) by its Maclaurin series (https://dlmf.nist.gov/7.6#E1). */
function errorFunction(x: number): number {
  if (Math.abs(x) > 5) return Math.sign(x)
  let sum = 0
  let power = x
  for (let n = 0; n < 120; n++) {
    sum += power / (2 * n + 1)
    power *= (-x * x) / (n + 1)
  }
  return (2 / Math.sqrt(Math.PI)) * sum
}
