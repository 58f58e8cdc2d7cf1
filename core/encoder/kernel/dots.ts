/** Dot products of one int8 vector with many, for the search by meaning. */

/** products[d] = Σ_i query[i] · documents[d, i], as int32. */
export function dots(query: usize, documents: usize, products: usize, count: i32, dimensions: i32): void {
  const end = <usize>dimensions
  const whole = end & ~15
  for (let row = 0; row < count; row++) {
    const document = documents + <usize>row * end
    let sums = i32x4.splat(0)
    for (let at: usize = 0; at < whole; at += 16) {
      const left = v128.load(query + at)
      const right = v128.load(document + at)
      const low = i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(left), i16x8.extend_low_i8x16_s(right))
      const high = i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(left), i16x8.extend_high_i8x16_s(right))
      sums = i32x4.add(sums, i32x4.add(low, high))
    }
    const halves = i32x4.add(sums, v128.shuffle<i32>(sums, sums, 2, 3, 2, 3))
    let sum = i32x4.extract_lane(halves, 0) + i32x4.extract_lane(halves, 1)
    for (let at = whole; at < end; at++) sum += load<i8>(query + at) * load<i8>(document + at)
    store<i32>(products + ((<usize>row) << 2), sum)
  }
}
