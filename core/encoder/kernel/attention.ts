/** Self-attention of the tokens of a text, for each head: softmax(Q · Kᵀ / √32) · V (https://arxiv.org/abs/1706.03762). */
import { laneSum } from './lanes'

/** Dimensions of a head, and their bytes. */
const HEAD: i32 = 32
const HEAD_BYTES: usize = 128
/** 1 / √32 */
const SCALE: f32 = 0.17677669529663687
/** Below this, e^x is negligible compared with the greatest term, which is 1. */
const LEAST: f32 = -87

/**
 * `joined`: rows of query, key and value side by side (3 · columns); `context`: rows of `columns`; `scores`: scratch for
 * `rows` values, rounded up to a multiple of four.
 */
export function attend(rows: i32, columns: i32, joined: usize, context: usize, scores: usize): void {
  const stride = (<usize>(3 * columns)) << 2
  const keyAt = (<usize>columns) << 2
  for (let head = 0; head < columns / HEAD; head++) {
    const queries = joined + <usize>head * HEAD_BYTES
    const keys = queries + keyAt
    const values = keys + keyAt
    for (let row = 0; row < rows; row++) {
      const most = score(rows, queries + <usize>row * stride, keys, stride, scores)
      const sum = exponentials(rows, scores, most)
      const to = context + ((<usize>row * <usize>columns) << 2) + <usize>head * HEAD_BYTES
      mix(rows, values, stride, scores, 1 / sum, to)
    }
  }
}

/** The scaled products of one query with all keys; returns the greatest. */
function score(rows: i32, query: usize, keys: usize, stride: usize, scores: usize): f32 {
  const scale = f32x4.splat(SCALE)
  const q0 = f32x4.mul(v128.load(query), scale)
  const q1 = f32x4.mul(v128.load(query, 16), scale)
  const q2 = f32x4.mul(v128.load(query, 32), scale)
  const q3 = f32x4.mul(v128.load(query, 48), scale)
  const q4 = f32x4.mul(v128.load(query, 64), scale)
  const q5 = f32x4.mul(v128.load(query, 80), scale)
  const q6 = f32x4.mul(v128.load(query, 96), scale)
  const q7 = f32x4.mul(v128.load(query, 112), scale)
  let most: f32 = -Infinity
  for (let row = 0; row < rows; row++) {
    const key = keys + <usize>row * stride
    let even = f32x4.mul(q0, v128.load(key))
    let odd = f32x4.mul(q1, v128.load(key, 16))
    even = f32x4.add(even, f32x4.mul(q2, v128.load(key, 32)))
    odd = f32x4.add(odd, f32x4.mul(q3, v128.load(key, 48)))
    even = f32x4.add(even, f32x4.mul(q4, v128.load(key, 64)))
    odd = f32x4.add(odd, f32x4.mul(q5, v128.load(key, 80)))
    even = f32x4.add(even, f32x4.mul(q6, v128.load(key, 96)))
    odd = f32x4.add(odd, f32x4.mul(q7, v128.load(key, 112)))
    const product = laneSum(f32x4.add(even, odd))
    store<f32>(scores + ((<usize>row) << 2), product)
    most = max(most, product)
  }
  return most
}

/** e^(score - most) in place; returns their sum. */
function exponentials(rows: i32, scores: usize, most: f32): f32 {
  const whole = (rows + 3) & ~3
  for (let row = rows; row < whole; row++) store<f32>(scores + ((<usize>row) << 2), -Infinity)
  const shift = f32x4.splat(most)
  let sum = f32x4.splat(0)
  for (let at: usize = 0; at < (<usize>whole) << 2; at += 16) {
    const power = exponential(f32x4.sub(v128.load(scores + at), shift))
    v128.store(scores + at, power)
    sum = f32x4.add(sum, power)
  }
  return laneSum(sum)
}

/**
 * e^x for x ≤ 0: 2^n · e^r with n = round(x / ln 2) and a polynomial of r, after Cephes' expf
 * (https://www.netlib.org/cephes/). 0 below -87.
 */
function exponential(x: v128): v128 {
  const small = f32x4.ge(x, f32x4.splat(LEAST))
  const whole = f32x4.nearest(f32x4.mul(x, f32x4.splat(Mathf.LOG2E)))
  // ln 2 is split into two parts, so that their products are exact.
  const rough = f32x4.sub(x, f32x4.mul(whole, f32x4.splat(0.693359375)))
  const rest = f32x4.sub(rough, f32x4.mul(whole, f32x4.splat(-2.1219444e-4)))
  let sum = f32x4.splat(1.98756915e-4)
  sum = f32x4.add(f32x4.mul(sum, rest), f32x4.splat(1.3981999507e-3))
  sum = f32x4.add(f32x4.mul(sum, rest), f32x4.splat(8.3334519073e-3))
  sum = f32x4.add(f32x4.mul(sum, rest), f32x4.splat(4.1665795894e-2))
  sum = f32x4.add(f32x4.mul(sum, rest), f32x4.splat(1.6666665459e-1))
  sum = f32x4.add(f32x4.mul(sum, rest), f32x4.splat(5.0000001201e-1))
  sum = f32x4.add(f32x4.mul(f32x4.mul(sum, rest), rest), f32x4.add(rest, f32x4.splat(1)))
  const power = i32x4.shl(i32x4.add(i32x4.trunc_sat_f32x4_s(whole), i32x4.splat(127)), 23)
  return v128.and(f32x4.mul(sum, power), small)
}

/** The sum of all values, each weighted by its score. */
function mix(rows: i32, values: usize, stride: usize, scores: usize, factor: f32, to: usize): void {
  let sum0 = f32x4.splat(0)
  let sum1 = sum0
  let sum2 = sum0
  let sum3 = sum0
  let sum4 = sum0
  let sum5 = sum0
  let sum6 = sum0
  let sum7 = sum0
  for (let row = 0; row < rows; row++) {
    const value = values + <usize>row * stride
    const weight = v128.load32_splat(scores + ((<usize>row) << 2))
    sum0 = f32x4.add(sum0, f32x4.mul(weight, v128.load(value)))
    sum1 = f32x4.add(sum1, f32x4.mul(weight, v128.load(value, 16)))
    sum2 = f32x4.add(sum2, f32x4.mul(weight, v128.load(value, 32)))
    sum3 = f32x4.add(sum3, f32x4.mul(weight, v128.load(value, 48)))
    sum4 = f32x4.add(sum4, f32x4.mul(weight, v128.load(value, 64)))
    sum5 = f32x4.add(sum5, f32x4.mul(weight, v128.load(value, 80)))
    sum6 = f32x4.add(sum6, f32x4.mul(weight, v128.load(value, 96)))
    sum7 = f32x4.add(sum7, f32x4.mul(weight, v128.load(value, 112)))
  }
  const all = f32x4.splat(factor)
  v128.store(to, f32x4.mul(sum0, all))
  v128.store(to, f32x4.mul(sum1, all), 16)
  v128.store(to, f32x4.mul(sum2, all), 32)
  v128.store(to, f32x4.mul(sum3, all), 48)
  v128.store(to, f32x4.mul(sum4, all), 64)
  v128.store(to, f32x4.mul(sum5, all), 80)
  v128.store(to, f32x4.mul(sum6, all), 96)
  v128.store(to, f32x4.mul(sum7, all), 112)
}
