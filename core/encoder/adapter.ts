/**
 * The adapter: low-rank changes of the encoder's matrices (LoRA, https://arxiv.org/abs/2106.09685), trained on queries for tools by
 * scripts/training. It is added to the published weights when the model file is made, so that searches take no longer with it. Pure.
 */
import { DIMENSIONS, INNER_DIMENSIONS } from './minilm.ts'
import { readInt8Safetensors, readSafetensors, type TensorReader } from './safetensors.ts'

/** Number of columns of B, and of rows of A, in each change B·A. */
export const ADAPTER_RANK = 24
type Size = readonly [rows: number, columns: number]
const ATTENTION: Size = [DIMENSIONS, DIMENSIONS]
/** The matrices of a layer that the adapter changes: rows and columns. */
const ADAPTED: ReadonlyMap<string, Size> = new Map([
  ['attention.self.query', ATTENTION],
  ['attention.self.key', ATTENTION],
  ['attention.self.value', ATTENTION],
  ['attention.output.dense', ATTENTION],
  ['intermediate.dense', [INNER_DIMENSIONS, DIMENSIONS]],
  ['output.dense', [DIMENSIONS, INNER_DIMENSIONS]],
])
const MATRIX = /^encoder\.layer\.\d+\.(.+)\.weight$/

/**
 * Returns a reader of the weights that `read` returns, with the change of the adapter added to each changed matrix: B · diag(scales) · A.
 * `adapter`: a safetensors file with `NAME.lora_A` and `NAME.lora_B` (int8) and `NAME.scales` (float32) for each matrix NAME. The reader
 * throws Fault `io` if the adapter lacks one of them. Equal input gives equal weights on every machine.
 */
export function adapted(read: TensorReader, adapter: Uint8Array): TensorReader {
  const factors = readInt8Safetensors(adapter)
  const scalesOf = readSafetensors(adapter)
  return (name, shape) => {
    const weights = read(name, shape)
    const size = ADAPTED.get(MATRIX.exec(name)?.[1] ?? '')
    if (!size) return weights
    const [rows, columns] = size
    const a = factors(`${name}.lora_A`, [ADAPTER_RANK, columns])
    const b = factors(`${name}.lora_B`, [rows, ADAPTER_RANK])
    const scales = scalesOf(`${name}.scales`, [ADAPTER_RANK])
    for (let row = 0; row < rows; row++) addRow(weights, row * columns, { a, b, scales, row, columns })
    return weights
  }
}

type Change = { a: Int8Array; b: Int8Array; scales: Float32Array; row: number; columns: number }

/** Adds one row of the change to the weights from `start` on. */
function addRow(weights: Float32Array, start: number, { a, b, scales, row, columns }: Change): void {
  const sums = new Float64Array(columns)
  for (let rank = 0; rank < ADAPTER_RANK; rank++) {
    const factor = (b[row * ADAPTER_RANK + rank] as number) * (scales[rank] as number)
    for (let column = 0; column < columns; column++)
      sums[column] = (sums[column] as number) + factor * (a[rank * columns + column] as number)
  }
  for (let column = 0; column < columns; column++)
    weights[start + column] = (weights[start + column] as number) + (sums[column] as number)
}
