/** The forward pass of the model once more, slow and plain, in doubles and from the published weights: what the fast one is compared with. */
import { DIMENSIONS, INNER_DIMENSIONS, LAYERS } from '../../core/encoder/minilm.ts'
import type { TensorReader } from '../../core/encoder/safetensors.ts'

const HEADS = 12
const HEAD = DIMENSIONS / HEADS
const EPSILON = 1e-12

type Rows = number[][]

/** The unit vector of a text's tokens (https://arxiv.org/abs/1810.04805, mean pooling as sentence-transformers does it). */
export function plainVector(read: TensorReader, tokens: Iterable<number>): number[] {
  const words = read('embeddings.word_embeddings.weight', [30_522, DIMENSIONS])
  const positions = read('embeddings.position_embeddings.weight', [512, DIMENSIONS])
  const types = read('embeddings.token_type_embeddings.weight', [2, DIMENSIONS])
  const at = (tensor: Float32Array, row: number, column: number) =>
    tensor[row * DIMENSIONS + column] as number
  let rows: Rows = [...tokens].map((token, position) =>
    range(DIMENSIONS).map(i => at(words, token, i) + at(positions, position, i) + at(types, 0, i)),
  )
  rows = norm(read, 'embeddings.LayerNorm', rows)
  for (const layer of range(LAYERS)) rows = layerOf(read, `encoder.layer.${layer}`, rows)
  const sum = range(DIMENSIONS).map(i => rows.reduce((total, row) => total + (row[i] as number), 0))
  const length = Math.sqrt(dot(sum, sum))
  return sum.map(value => value / length)
}

function layerOf(read: TensorReader, name: string, rows: Rows): Rows {
  const attended = linear(read, `${name}.attention.output.dense`, attention(read, name, rows), DIMENSIONS)
  const middle = norm(read, `${name}.attention.output.LayerNorm`, sumOf(attended, rows))
  const wide = linear(read, `${name}.intermediate.dense`, middle, INNER_DIMENSIONS).map(row => row.map(gelu))
  return norm(
    read,
    `${name}.output.LayerNorm`,
    sumOf(linear(read, `${name}.output.dense`, wide, DIMENSIONS), middle),
  )
}

function attention(read: TensorReader, name: string, rows: Rows): Rows {
  const [queries, keys, values] = (['query', 'key', 'value'] as const).map(part =>
    linear(read, `${name}.attention.self.${part}`, rows, DIMENSIONS),
  ) as [Rows, Rows, Rows]
  return queries.map(query =>
    range(HEADS).flatMap(head => {
      const part = (row: number[]) => row.slice(head * HEAD, (head + 1) * HEAD)
      const scores = keys.map(key => Math.exp(dot(part(query), part(key)) / Math.sqrt(HEAD)))
      const total = scores.reduce((sum, score) => sum + score, 0)
      return range(HEAD).map(i =>
        values.reduce(
          (sum, value, row) => sum + ((scores[row] as number) / total) * (part(value)[i] as number),
          0,
        ),
      )
    }),
  )
}

function linear(read: TensorReader, name: string, rows: Rows, outputs: number): Rows {
  const columns = rows[0]?.length ?? 0
  const weights = read(`${name}.weight`, [outputs, columns])
  const bias = read(`${name}.bias`, [outputs])
  return rows.map(row =>
    range(outputs).map(output => {
      let sum = bias[output] as number
      for (let i = 0; i < columns; i++) sum += (weights[output * columns + i] as number) * (row[i] as number)
      return sum
    }),
  )
}

function norm(read: TensorReader, name: string, rows: Rows): Rows {
  const gain = read(`${name}.weight`, [DIMENSIONS])
  const bias = read(`${name}.bias`, [DIMENSIONS])
  return rows.map(row => {
    const mean = row.reduce((sum, value) => sum + value, 0) / row.length
    const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / row.length
    return row.map(
      (value, i) =>
        ((value - mean) / Math.sqrt(variance + EPSILON)) * (gain[i] as number) + (bias[i] as number),
    )
  })
}

function gelu(x: number): number {
  return (x / 2) * (1 + errorFunction(x / Math.SQRT2))
}

/** erf(x) as the integral that it is, by Simpson's rule. */
function errorFunction(x: number): number {
  const steps = 200
  const width = Math.min(Math.abs(x), 6) / steps
  const weight = (step: number) => (step === 0 || step === steps ? 1 : step % 2 === 1 ? 4 : 2)
  const sum = range(steps + 1).reduce(
    (total, step) => total + weight(step) * Math.exp(-((step * width) ** 2)),
    0,
  )
  return Math.sign(x) * (2 / Math.sqrt(Math.PI)) * ((sum * width) / 3)
}

function sumOf(left: Rows, right: Rows): Rows {
  return left.map((row, at) => row.map((value, i) => value + (right[at]?.[i] as number)))
}

function dot(left: readonly number[], right: readonly number[]): number {
  return left.reduce((sum, value, i) => sum + value * (right[i] as number), 0)
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i)
}
