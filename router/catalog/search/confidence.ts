/** How likely the first hit of a search does what the query asks, as a small neural network predicts it (scripts/training/confidence.ts). Pure. */
import learned from './data/confidence.json' with { type: 'json' }
import type { Feature, Features } from './features.ts'

/** One hidden layer; see `logOddsOf`. */
export type Network = {
  features: readonly Feature[]
  /** By feature, over the training examples. */
  mean: readonly number[]
  standardDeviation: readonly number[]
  /** By hidden unit: a weight for each feature, then the bias. */
  hidden: readonly (readonly number[])[]
  /** A weight for each hidden unit, then the bias. */
  output: readonly number[]
  /** The confidence below which probably nothing fits, by the feature `tools`; ascending. */
  thresholds: readonly (readonly [tools: number, confidence: number])[]
}

export type Confidence = {
  /** 0 to 1. */
  value: number
  /** Below it the search says that probably nothing fits. */
  threshold: number
  network: Network
}

/** Standardized features are clipped to this range, since values farther from the mean were rare in the training. */
const MAX_DEVIATIONS = 3
const NETWORKS = learned.networks as unknown as Readonly<Record<'words' | 'meaning', Network>>

/** `pending`: whether documents without a vector may fit better than those with one. */
export function confidenceIn(features: Features, pending: boolean): Confidence {
  const words = rate(NETWORKS.words, features)
  if (features.cosine === undefined) return words
  const meaning = rate(NETWORKS.meaning, features)
  return pending && words.value / words.threshold > meaning.value / meaning.threshold ? words : meaning
}

/** The logarithm of the odds: output · tanh(hidden · standardized features). */
export function logOddsOf(network: Network, features: Features): number {
  const { hidden, output } = network
  const inputs = inputsOf(network, features)
  return hidden.reduce((logOdds, weights, at) => {
    const sum = inputs.reduce(
      (sum, input, feature) => sum + input * (weights[feature] as number),
      weights[inputs.length] as number,
    )
    return logOdds + Math.tanh(sum) * (output[at] as number)
  }, output[hidden.length] as number)
}

/** The standardized features: in standard deviations from their means, clipped. */
export function inputsOf(
  { features: names, mean, standardDeviation }: Pick<Network, 'features' | 'mean' | 'standardDeviation'>,
  features: Features,
): number[] {
  return names.map((name, at) => {
    const deviations = ((features[name] as number) - (mean[at] as number)) / (standardDeviation[at] as number)
    return Math.min(MAX_DEVIATIONS, Math.max(-MAX_DEVIATIONS, deviations))
  })
}

/** How much each feature changes the logarithm of the odds, compared with the feature's mean value; the greatest effect first. */
export function effectsOf({ network }: Confidence, features: Features): ExplainedFeature[] {
  const logOdds = logOddsOf(network, features)
  const means = new Map(network.features.map((feature, at) => [feature, network.mean[at]]))
  const entries = Object.entries(features) as [Feature, number][]
  return entries
    .map(([feature, value]) => {
      const atMean = logOddsOf(network, { ...features, [feature]: means.get(feature) })
      return { feature, value, effect: logOdds - atMean }
    })
    .sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect))
}

export type ExplainedFeature = { feature: Feature; value: number; effect: number }

function rate(network: Network, features: Features): Confidence {
  const value = 1 / (1 + Math.exp(-logOddsOf(network, features)))
  return { value, threshold: thresholdOf(network, features.tools), network }
}

/** Interpolates linearly between the points; constant beyond them. After the last point, `findIndex` returns -1, and `at(-1)` that point. */
function thresholdOf({ thresholds }: Network, tools: number): number {
  const next = thresholds.findIndex(([point]) => point >= tools)
  const to = thresholds.at(next)
  const from = next > 0 ? thresholds[next - 1] : to
  if (!from || !to) return 0
  const part = from === to ? 0 : (tools - from[0]) / (to[0] - from[0])
  return from[1] + part * (to[1] - from[1])
}
