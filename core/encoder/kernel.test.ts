/** Compares each kernel with its formula in JavaScript. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { prepareDots } from './dots.ts'
import { loadKernel } from './kernel.ts'
import { planMemory } from './memory.ts'

/** Pseudo-random numbers from -1 to 1, by a linear congruential generator. */
function numbers(count: number, seed: number): number[] {
  let state = seed
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 31 - 1
  })
}

type Sizes = Record<string, number>

/** The kernels with a memory that has a named area of the given number of float32 for each entry of `sizes`. */
function workbench<Name extends string>(sizes: Record<Name, number>) {
  const plan = planMemory()
  const places = Object.fromEntries(
    Object.entries(sizes as Sizes).map(([name, count]) => [name, plan.reserve(count * 4)]),
  ) as Record<Name, number>
  const memory = plan.create()
  const floats = (name: Name) => new Float32Array(memory.buffer, places[name], sizes[name])
  return { kernel: loadKernel(memory), places, memory, floats }
}

function close(found: Float32Array, expected: readonly number[], tolerance: number): void {
  assert.equal(found.length, expected.length)
  for (const [at, value] of expected.entries())
    assert.ok(Math.abs((found[at] as number) - value) <= tolerance, `${at}: ${found[at]}, not ${value}`)
}

test('quantize scales each row by its greatest absolute value and rounds to int16', () => {
  const { kernel, places, memory, floats } = workbench({ values: 48, quantized: 24, scales: 3 })
  const rows = [numbers(16, 1), new Array<number>(16).fill(0), numbers(16, 2).map(value => value * 1e6)]
  floats('values').set(rows.flat())
  kernel.quantize(3, 16, places.values, places.quantized, places.scales)
  const quantized = new Int16Array(memory.buffer, places.quantized, 48)
  for (const [row, values] of rows.entries()) {
    const most = Math.max(...values.map(Math.abs))
    const scale = floats('scales')[row] as number
    assert.ok(Math.abs(scale * 8_191 - most) <= most * 1e-6)
    for (const [at, value] of values.entries())
      assert.ok(Math.abs((quantized[row * 16 + at] as number) * scale - value) <= most / 8_191)
  }
})

test('multiply gives the exact integer sums, scaled, for every number of rows', () => {
  const [columns, outputs, most] = [32, 6, 40]
  const { kernel, places, memory, floats } = workbench({
    input: most * columns,
    scales: most,
    weights: outputs * columns,
    weightScales: outputs,
    bias: outputs,
    output: most * outputs,
  })
  const input = new Int16Array(memory.buffer, places.input, most * columns)
  const weights = new Int8Array(memory.buffer, places.weights, outputs * columns)
  input.set(numbers(input.length, 3).map(value => Math.round(value * 8_191)))
  weights.set(numbers(weights.length, 4).map(value => Math.round(value * 127)))
  for (const name of ['scales', 'weightScales', 'bias'] as const)
    floats(name).set(numbers(floats(name).length, 5))
  const { scales, weightScales, bias } = {
    scales: floats('scales'),
    weightScales: floats('weightScales'),
    bias: floats('bias'),
  }
  const f = Math.fround
  for (const rows of [4, 16, 20, 40])
    for (const add of [0, 1] as const) {
      const output = floats('output').fill(0.5)
      const { input: from, weights: by, output: to } = places
      kernel.multiply(
        rows,
        columns,
        outputs,
        from,
        places.scales,
        by,
        places.weightScales,
        places.bias,
        to,
        add,
      )
      for (let row = 0; row < rows; row++)
        for (let out = 0; out < outputs; out++) {
          let sum = 0
          for (let i = 0; i < columns; i++)
            sum += (input[row * columns + i] as number) * (weights[out * columns + i] as number)
          const scaled = f(f(sum) * f((scales[row] as number) * (weightScales[out] as number)))
          const expected = f(scaled + (bias[out] as number))
          assert.equal(output[row * outputs + out], add ? f(expected + 0.5) : expected)
        }
      assert.ok(output.subarray(rows * outputs).every(value => value === 0.5))
    }
})

test('normalize is layer norm', () => {
  const { kernel, places, floats } = workbench({ values: 32, gain: 16, bias: 16 })
  const [rows, gain, bias] = [[numbers(16, 6), numbers(16, 7)], numbers(16, 8), numbers(16, 9)]
  floats('values').set(rows.flat())
  floats('gain').set(gain)
  floats('bias').set(bias)
  kernel.normalize(2, 16, places.values, places.gain, places.bias)
  const expected = rows.flatMap(row => {
    const mean = row.reduce((sum, value) => sum + value, 0) / 16
    const deviation = Math.sqrt(row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 16)
    return row.map((value, i) => ((value - mean) / deviation) * (gain[i] as number) + (bias[i] as number))
  })
  close(floats('values'), expected, 1e-5)
})

test('gelu interpolates its table, is the identity above the table and 0 below', () => {
  const { kernel, places, floats } = workbench({ values: 6, table: 4_098 })
  floats('table').set(Array.from({ length: 4_098 }, (_, at) => (at / 256 - 8) ** 2))
  floats('values').set([-9, -8, -1.001, 0.3, 7.999, 8.5])
  kernel.gelu(6, places.values, places.table)
  close(floats('values'), [0, 0, 1.001 ** 2, 0.09, 7.999 ** 2, 8.5], 1e-4)
})

test('attend is softmax(Q · Kᵀ / √32) · V of each head, for every number of rows', () => {
  const [columns, most] = [64, 7]
  const sizes = { joined: 3 * columns * most, context: columns * most, scores: 8 }
  const { kernel, places, floats } = workbench(sizes)
  // Large values, so that the softmax is uneven and its smallest parts underflow to 0.
  const joined = numbers(sizes.joined, 10).map(value => value * 9)
  floats('joined').set(joined)
  const at = (row: number, part: number, i: number) =>
    joined[row * 3 * columns + part * columns + i] as number
  for (let rows = 1; rows <= most; rows++) {
    kernel.attend(rows, columns, places.joined, places.context, places.scores)
    const all = Array.from({ length: rows }, (_, row) => row)
    const expected = all.flatMap(row =>
      Array.from({ length: columns }, (_, i) => {
        const head = i - (i % 32)
        const score = (other: number) =>
          Array.from({ length: 32 }, (_, k) => at(row, 0, head + k) * at(other, 1, head + k)).reduce(
            (a, b) => a + b,
          ) / Math.sqrt(32)
        const scores = all.map(score)
        const powers = scores.map(value => Math.exp(value - Math.max(...scores)))
        const total = powers.reduce((a, b) => a + b)
        return all.reduce((sum, other) => sum + ((powers[other] as number) / total) * at(other, 2, i), 0)
      }),
    )
    close(floats('context').subarray(0, rows * columns), expected, 2e-4)
  }
})

test('dot products are exact, for any number of vectors of any dimensions', () => {
  const sizes = fc.record({ count: fc.nat(9), dimensions: fc.nat(70), seed: fc.nat() })
  fc.assert(
    fc.property(sizes, ({ count, dimensions, seed }) => {
      const dots = prepareDots()(count, dimensions)
      const integers = (length: number, seed: number) =>
        Int8Array.from(numbers(length, seed), value => value * 127)
      dots.memory.set(integers(count * dimensions, seed))
      for (const query of [integers(dimensions, seed + 1), integers(dimensions, seed + 2)]) {
        const expected = Array.from({ length: count }, (_, row) =>
          query.reduce((sum, value, i) => sum + value * (dots.memory[row * dimensions + i] as number), 0),
        )
        assert.deepEqual([...dots.multiply(query)], expected)
      }
    }),
  )
})
