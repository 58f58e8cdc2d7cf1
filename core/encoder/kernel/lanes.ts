/** Reductions across the four float32 lanes of a vector, always in the same order, so that equal input gives equal bytes. */

export function laneSum(values: v128): f32 {
  const left = f32x4.extract_lane(values, 0) + f32x4.extract_lane(values, 1)
  return left + (f32x4.extract_lane(values, 2) + f32x4.extract_lane(values, 3))
}

export function laneMaximum(values: v128): f32 {
  const left = max(f32x4.extract_lane(values, 0), f32x4.extract_lane(values, 1))
  return max(left, max(f32x4.extract_lane(values, 2), f32x4.extract_lane(values, 3)))
}
