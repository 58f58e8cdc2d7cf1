/** Trains the small network that rates how sure a search is: full batches, Adam, weight decay. Equal examples give equal weights. Pure. */
import { inputsOf, type Network } from '../../router/catalog/search/confidence.ts'
import type { Sign, Signs } from '../../router/catalog/search/signs.ts'

/** `fits`: whether a tool serves the query. `weight`: of its loss. */
export type Example = { signs: Signs; fits: boolean; weight: number }

const HIDDEN = 8
const STEPS = 300
const LEARNING_RATE = 0.04
const WEIGHT_DECAY = 0.001
const SEED = 20_261_124
/** Of Adam. */
const [BETA_1, BETA_2, EPSILON] = [0.9, 0.999, 1e-8]

export function trainNetwork(examples: readonly Example[], signs: readonly Sign[]): Omit<Network, 'least'> {
  const { usual, unit } = scaleOf(examples, signs)
  const inputs = examples.map(example =>
    Float64Array.from([...inputsOf({ signs, usual, unit }, example.signs), 1]),
  )
  const width = signs.length + 1
  const weights = firstWeights(width)
  const means = new Float64Array(weights.length)
  const squares = new Float64Array(weights.length)
  for (let step = 1; step <= STEPS; step++) {
    const gradient = gradientOf(weights, inputs, examples, width)
    for (let at = 0; at < weights.length; at++) {
      const slope = gradient[at] as number
      means[at] = BETA_1 * (means[at] as number) + (1 - BETA_1) * slope
      squares[at] = BETA_2 * (squares[at] as number) + (1 - BETA_2) * slope * slope
      const mean = (means[at] as number) / (1 - BETA_1 ** step)
      const root = Math.sqrt((squares[at] as number) / (1 - BETA_2 ** step))
      weights[at] = (weights[at] as number) - (LEARNING_RATE * mean) / (root + EPSILON)
    }
  }
  const part = (from: number, length: number) => Array.from(weights.subarray(from, from + length), three)
  const hidden = Array.from({ length: HIDDEN }, (_, unit) => part(unit * width, width))
  return { signs, usual, unit, hidden, output: part(HIDDEN * width, HIDDEN + 1) }
}

function scaleOf(examples: readonly Example[], signs: readonly Sign[]) {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const columns = signs.map(sign => examples.map(example => example.signs[sign] ?? 0))
  const usual = columns.map(column => three(mean(column)))
  const unit = columns.map((column, at) => {
    const deviation = Math.sqrt(mean(column.map(value => (value - (usual[at] ?? 0)) ** 2)))
    return three(deviation) || 1
  })
  return { usual, unit }
}

/** Initial weights: those of each hidden unit followed by its bias, then those of the output and its bias. */
function firstWeights(width: number): Float64Array {
  let state = SEED
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32 - 0.5
  }
  const weights = new Float64Array(HIDDEN * width + HIDDEN + 1)
  for (let at = 0; at < weights.length; at++) weights[at] = random() / Math.sqrt(width / 12)
  return weights
}

/** The gradient of the mean cross-entropy and of the weight decay. */
function gradientOf(
  weights: Float64Array,
  inputs: readonly Float64Array[],
  examples: readonly Example[],
  width: number,
): Float64Array {
  const gradient = new Float64Array(weights.length)
  const total = examples.reduce((sum, { weight }) => sum + weight, 0)
  const last = HIDDEN * width
  const active = new Float64Array(HIDDEN)
  for (const [number, input] of inputs.entries()) {
    const { fits, weight } = examples[number] as Example
    let odds = weights[last + HIDDEN] as number
    for (let unit = 0; unit < HIDDEN; unit++) {
      let sum = 0
      for (let at = 0; at < width; at++) sum += (weights[unit * width + at] as number) * (input[at] as number)
      active[unit] = Math.tanh(sum)
      odds += (active[unit] as number) * (weights[last + unit] as number)
    }
    const error = (weight * (1 / (1 + Math.exp(-odds)) - Number(fits))) / total
    gradient[last + HIDDEN] = (gradient[last + HIDDEN] as number) + error
    for (let unit = 0; unit < HIDDEN; unit++) {
      const own = active[unit] as number
      gradient[last + unit] = (gradient[last + unit] as number) + error * own
      const back = error * (weights[last + unit] as number) * (1 - own * own)
      for (let at = 0; at < width; at++)
        gradient[unit * width + at] = (gradient[unit * width + at] as number) + back * (input[at] as number)
    }
  }
  for (let at = 0; at < last + HIDDEN; at++)
    gradient[at] = (gradient[at] as number) + WEIGHT_DECAY * (weights[at] as number)
  return gradient
}

function three(value: number): number {
  return Number(value.toFixed(3))
}
