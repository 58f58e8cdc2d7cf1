/** Trains the neural network that predicts the confidence of a search: full batches, Adam, weight decay. Equal examples give equal weights. Pure. */
import { inputsOf, type Network } from '../../router/catalog/search/confidence.ts'
import type { Feature, Features } from '../../router/catalog/search/features.ts'

/** `fits`: whether a tool serves the query. `weight`: of its loss. */
export type Example = { features: Features; fits: boolean; weight: number }

const HIDDEN = 8
const STEPS = 300
const LEARNING_RATE = 0.04
const WEIGHT_DECAY = 0.001
const SEED = 20_261_124
/** The parameters of Adam. */
const [BETA_1, BETA_2, EPSILON] = [0.9, 0.999, 1e-8]

/** Returns the weights, rounded to three decimals. `features`: the inputs of the network, in this order. */
export function trainNetwork(
  examples: readonly Example[],
  features: readonly Feature[],
): Omit<Network, 'thresholds'> {
  const scale = scaleOf(examples, features)
  const inputs = examples.map(example =>
    Float64Array.from([...inputsOf({ features, ...scale }, example.features), 1]),
  )
  const width = features.length + 1
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
  return { features, ...scale, hidden, output: part(HIDDEN * width, HIDDEN + 1) }
}

/** The mean and standard deviation of each feature, with which inputs are standardized. */
function scaleOf(examples: readonly Example[], features: readonly Feature[]) {
  const meanOf = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const columns = features.map(feature => examples.map(example => example.features[feature] ?? 0))
  const mean = columns.map(column => three(meanOf(column)))
  const standardDeviation = columns.map((column, at) => {
    const deviation = Math.sqrt(meanOf(column.map(value => (value - (mean[at] ?? 0)) ** 2)))
    return three(deviation) || 1
  })
  return { mean, standardDeviation }
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
    let logOdds = weights[last + HIDDEN] as number
    for (let unit = 0; unit < HIDDEN; unit++) {
      let sum = 0
      for (let at = 0; at < width; at++) sum += (weights[unit * width + at] as number) * (input[at] as number)
      active[unit] = Math.tanh(sum)
      logOdds += (active[unit] as number) * (weights[last + unit] as number)
    }
    const error = (weight * (1 / (1 + Math.exp(-logOdds)) - Number(fits))) / total
    gradient[last + HIDDEN] = (gradient[last + HIDDEN] as number) + error
    for (let unit = 0; unit < HIDDEN; unit++) {
      const activation = active[unit] as number
      gradient[last + unit] = (gradient[last + unit] as number) + error * activation
      const back = error * (weights[last + unit] as number) * (1 - activation * activation)
      for (let at = 0; at < width; at++)
        gradient[unit * width + at] = (gradient[unit * width + at] as number) + back * (input[at] as number)
    }
  }
  for (let at = 0; at < last + HIDDEN; at++)
    gradient[at] = (gradient[at] as number) + WEIGHT_DECAY * (weights[at] as number)
  return gradient
}

/** Rounds to three decimals. */
function three(value: number): number {
  return Number(value.toFixed(3))
}
