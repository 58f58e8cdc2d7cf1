/** Matrix product of int16 activations with int8 weights. The int32 sums are exact, so their order does not matter. */

/** The tile size: its accumulators and operands fit into sixteen vector registers. */
const TILE_ROWS: i32 = 4
const TILE_OUTPUTS: i32 = 2
/** Values per step along the columns: one vector of int8. */
const STEP: usize = 16
/** So many rows stay in the L1 cache while all weights are read. */
const BLOCK_ROWS: i32 = 16

/**
 * output[r, o] = Σ_c input[r, c] · weights[o, c] · inputScales[r] · weightScales[o] + bias[o]. If `add` is 1, this is added to the
 * existing output. `rows` is a multiple of 4, `columns` of 16, `outputs` of 2.
 */
export function multiply(
  rows: i32,
  columns: i32,
  outputs: i32,
  input: usize,
  inputScales: usize,
  weights: usize,
  weightScales: usize,
  bias: usize,
  output: usize,
  add: i32,
): void {
  for (let block = 0; block < rows; block += BLOCK_ROWS) {
    const end = min(block + BLOCK_ROWS, rows)
    for (let out = 0; out < outputs; out += TILE_OUTPUTS) {
      const weight = weights + <usize>(out * columns)
      const scale = weightScales + ((<usize>out) << 2)
      const shift = bias + ((<usize>out) << 2)
      for (let row = block; row < end; row += TILE_ROWS) {
        const place = output + ((<usize>(row * outputs + out)) << 2)
        const from = input + ((<usize>(row * columns)) << 1)
        tile(columns, outputs, from, inputScales + ((<usize>row) << 2), weight, scale, shift, place, add)
      }
    }
  }
}

/** Four rows by two outputs, `left` and `right`. */
function tile(
  columns: i32,
  outputs: i32,
  input: usize,
  inputScales: usize,
  weights: usize,
  weightScales: usize,
  bias: usize,
  output: usize,
  add: i32,
): void {
  const row = (<usize>columns) << 1
  const input1 = input + row
  const input2 = input1 + row
  const input3 = input2 + row
  const other = weights + <usize>columns
  let left0 = i32x4.splat(0)
  let left1 = left0
  let left2 = left0
  let left3 = left0
  let right0 = left0
  let right1 = left0
  let right2 = left0
  let right3 = left0
  for (let at: usize = 0; at < <usize>columns; at += STEP) {
    const left = v128.load(weights + at)
    const right = v128.load(other + at)
    const leftLow = i16x8.extend_low_i8x16_s(left)
    const leftHigh = i16x8.extend_high_i8x16_s(left)
    const rightLow = i16x8.extend_low_i8x16_s(right)
    const rightHigh = i16x8.extend_high_i8x16_s(right)
    const place = at << 1
    let low = v128.load(input + place)
    let high = v128.load(input + place, 16)
    left0 = plus(left0, leftLow, low, leftHigh, high)
    right0 = plus(right0, rightLow, low, rightHigh, high)
    low = v128.load(input1 + place)
    high = v128.load(input1 + place, 16)
    left1 = plus(left1, leftLow, low, leftHigh, high)
    right1 = plus(right1, rightLow, low, rightHigh, high)
    low = v128.load(input2 + place)
    high = v128.load(input2 + place, 16)
    left2 = plus(left2, leftLow, low, leftHigh, high)
    right2 = plus(right2, rightLow, low, rightHigh, high)
    low = v128.load(input3 + place)
    high = v128.load(input3 + place, 16)
    left3 = plus(left3, leftLow, low, leftHigh, high)
    right3 = plus(right3, rightLow, low, rightHigh, high)
  }
  const scales = v128.load(inputScales)
  const first = scaled(sums(left0, left1, left2, left3), scales, weightScales, bias)
  const second = scaled(sums(right0, right1, right2, right3), scales, weightScales + 4, bias + 4)
  putTile(output, (<usize>outputs) << 2, first, second, add)
}

/** Adds the products of sixteen weights with sixteen activations, in four lanes, to a sum. */
function plus(sum: v128, weightLow: v128, low: v128, weightHigh: v128, high: v128): v128 {
  const products = i32x4.dot_i16x8_s(weightLow, low)
  return i32x4.add(i32x4.add(sum, products), i32x4.dot_i16x8_s(weightHigh, high))
}

/** The sum of the lanes of each of four vectors. */
function sums(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = i32x4.add(v128.shuffle<i32>(a, b, 0, 1, 4, 5), v128.shuffle<i32>(a, b, 2, 3, 6, 7))
  const cd = i32x4.add(v128.shuffle<i32>(c, d, 0, 1, 4, 5), v128.shuffle<i32>(c, d, 2, 3, 6, 7))
  return i32x4.add(v128.shuffle<i32>(ab, cd, 0, 2, 4, 6), v128.shuffle<i32>(ab, cd, 1, 3, 5, 7))
}

/** The results of one output for four rows: the products with their scales applied, plus the bias. */
function scaled(products: v128, inputScales: v128, weightScale: usize, bias: usize): v128 {
  const scale = f32x4.mul(inputScales, v128.load32_splat(weightScale))
  return f32x4.add(f32x4.mul(f32x4.convert_i32x4_s(products), scale), v128.load32_splat(bias))
}

/** Stores the tile; the two outputs of a row are adjacent. */
function putTile(output: usize, stride: usize, first: v128, second: v128, add: i32): void {
  const upper = v128.shuffle<f32>(first, second, 0, 4, 1, 5)
  const lower = v128.shuffle<f32>(first, second, 2, 6, 3, 7)
  put(output, upper, 0, add)
  put(output + stride, upper, 1, add)
  put(output + 2 * stride, lower, 0, add)
  put(output + 3 * stride, lower, 1, add)
}

/** Stores the lower (`half` 0) or upper (1) two of four values. */
function put(output: usize, values: v128, half: i32, add: i32): void {
  let pair = half === 0 ? values : v128.shuffle<f32>(values, values, 2, 3, 2, 3)
  if (add) pair = f32x4.add(pair, v128.load64_zero(output))
  v128.store64_lane(output, pair, 0)
}
