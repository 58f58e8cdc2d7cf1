/** The operations between the matrix products: rounding to int16, layer norm, and the GELU of the feed-forward part. */
import { laneMaximum, laneSum } from './lanes'

/** The greatest int16 activation: 8191 · 127 · 1536 columns still fits into an int32 sum. */
const MOST: f32 = 8191
/** Added to the variance, as in the published configuration (`layer_norm_eps`). */
const EPSILON: f32 = 1e-12
/** GELU is interpolated in a table from -8 to 8. Below, it is 0; above, the identity. */
const TABLE_END: f32 = 8
const TABLE_STEPS: f32 = 256

/** quantized[r, c] = round(values[r, c] · 8191 / max |values[r]|); scales[r] = max |values[r]| / 8191. `columns` is a multiple of 8. */
export function quantize(rows: i32, columns: i32, values: usize, quantized: usize, scales: usize): void {
  for (let row = 0; row < rows; row++) {
    const from = values + ((<usize>(row * columns)) << 2)
    const to = quantized + ((<usize>(row * columns)) << 1)
    const most = greatest(from, columns)
    store<f32>(scales + ((<usize>row) << 2), most / MOST)
    const factor = f32x4.splat(most > 0 ? MOST / most : 0)
    for (let at: usize = 0; at < (<usize>columns) << 2; at += 32) {
      const low = rounded(v128.load(from + at), factor)
      const high = rounded(v128.load(from + at, 16), factor)
      v128.store(to + (at >> 1), i16x8.narrow_i32x4_s(low, high))
    }
  }
}

/** Layer norm in place: (x - mean) / √(variance + ε) · gain + bias. */
export function normalize(rows: i32, columns: i32, values: usize, gain: usize, bias: usize): void {
  const bytes = (<usize>columns) << 2
  for (let row = 0; row < rows; row++) {
    const from = values + <usize>row * bytes
    const mean = f32x4.splat(total(from, bytes) / <f32>columns)
    let squares = f32x4.splat(0)
    for (let at: usize = 0; at < bytes; at += 16) {
      const centred = f32x4.sub(v128.load(from + at), mean)
      squares = f32x4.add(squares, f32x4.mul(centred, centred))
    }
    const variance = laneSum(squares) / <f32>columns
    const inverse = f32x4.splat(1 / sqrt<f32>(variance + EPSILON))
    for (let at: usize = 0; at < bytes; at += 16) {
      const factor = f32x4.mul(inverse, v128.load(gain + at))
      const centred = f32x4.sub(v128.load(from + at), mean)
      v128.store(from + at, f32x4.add(f32x4.mul(centred, factor), v128.load(bias + at)))
    }
  }
}

/**
 * GELU in place, x · Φ(x) (https://arxiv.org/abs/1606.08415), interpolated linearly in a table of 4,097 values and one more, which is
 * read but has no weight.
 */
export function gelu(count: i32, values: usize, table: usize): void {
  const end = values + ((<usize>count) << 2)
  for (let at = values; at < end; at += 4) {
    const value = load<f32>(at)
    if (value >= TABLE_END) continue
    if (value <= -TABLE_END) {
      store<f32>(at, 0)
      continue
    }
    const place: f32 = (value + TABLE_END) * TABLE_STEPS
    const entry = <i32>place
    const from = table + ((<usize>entry) << 2)
    const below = load<f32>(from)
    store<f32>(at, below + (place - <f32>entry) * (load<f32>(from, 4) - below))
  }
}

function greatest(values: usize, columns: i32): f32 {
  let most = f32x4.splat(0)
  for (let at: usize = 0; at < (<usize>columns) << 2; at += 16)
    most = f32x4.max(most, f32x4.abs(v128.load(values + at)))
  return laneMaximum(most)
}

function rounded(values: v128, factor: v128): v128 {
  return i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(values, factor)))
}

function total(values: usize, bytes: usize): f32 {
  let sum = f32x4.splat(0)
  for (let at: usize = 0; at < bytes; at += 16) sum = f32x4.add(sum, v128.load(values + at))
  return laneSum(sum)
}
