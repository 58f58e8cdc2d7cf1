/** The forward pass of the model: from the tokens of texts to their sentence vectors, in short steps. */
import { type Kernel, loadKernel } from './kernel.ts'
import { type MemoryPlan, planMemory } from './memory.ts'
import { DIMENSIONS, INNER_DIMENSIONS, LAYERS, MAX_TOKENS, modelLayout } from './minilm.ts'
import type { ReadWord } from './model-file.ts'

/** The kernels take rows in fours. */
const TILE_ROWS = 4
/** GELU is read from a table of so many values a unit from -8 to 8; the last one is only the neighbour of the one before. */
const GELU_STEPS = 256
const GELU_END = 8
const GELU_ENTRIES = 2 * GELU_END * GELU_STEPS + 2

/** Where one pass keeps what it computes: two that take turns need one each. */
export type Scratch = {
  values: number
  wide: number
  quantized: number
  scales: number
  context: number
  scores: number
}

export type Transformer = {
  /** For one pass at a time, of texts of at most MAX_TOKENS tokens together. */
  readonly documents: Scratch
  /** For another one, that may run between any two steps of the first. */
  readonly query: Scratch
  /** The unit vector of each text. Gives way after each step, half a layer: some 2 ms with 64 tokens. */
  encode(scratch: Scratch, texts: readonly Uint16Array[]): Generator<void, Float32Array[]>
}

type Model = {
  kernel: Kernel
  floats: Float32Array
  gelu: number
  at(tensor: string): number
  readWord: ReadWord
}
/** One text's rows among those of the pass. */
type Part = { start: number; rows: number }

/** `load` is given room for the tensors (see minilm.ts), and fills it. Throws Fault `io` where the kernels are not there. */
export function createTransformer(load: (tensors: Uint8Array) => void, readWord: ReadWord): Transformer {
  const plan = planMemory()
  const layout = modelLayout()
  const tensors = plan.room(layout.bytes)
  const gelu = plan.room(GELU_ENTRIES * 4)
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
      for (let at = 0; at < DIMENSIONS; at++)
        floats[to++] = (word[at] as number) * scale + (floats[place + at] as number)
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

/** The mean of the vectors of all tokens, at length 1. */
function unitMean(floats: Float32Array, values: number, { start, rows }: Part): Float32Array {
  const sum = new Float32Array(DIMENSIONS)
  let from = values + start * DIMENSIONS
  for (let row = 0; row < rows; row++)
    for (let at = 0; at < DIMENSIONS; at++) sum[at] = (sum[at] as number) + (floats[from++] as number)
  const length = Math.hypot(...sum) || 1
  return sum.map(value => value / length)
}

function planScratch({ room }: MemoryPlan): Scratch {
  return {
    values: room(MAX_TOKENS * DIMENSIONS * 4),
    wide: room(MAX_TOKENS * INNER_DIMENSIONS * 4),
    quantized: room(MAX_TOKENS * INNER_DIMENSIONS * 2),
    scales: room(MAX_TOKENS * 4),
    context: room(MAX_TOKENS * DIMENSIONS * 4),
    scores: room(MAX_TOKENS * 4),
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
