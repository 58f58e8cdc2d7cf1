/** How sure it is that the first hit of a search does what the query asks, as a small network learned (scripts/training/confidence.ts). Pure. */
import learned from './data/confidence.json' with { type: 'json' }
import type { Sign, Signs } from './signs.ts'

/** One layer of a few hidden units; see `oddsOf`. */
export type Network = {
  signs: readonly Sign[]
  /** By sign: its mean, and its standard deviation. */
  usual: readonly number[]
  unit: readonly number[]
  /** By hidden unit: a weight for each sign, then a constant. */
  hidden: readonly (readonly number[])[]
  /** A weight for each hidden unit, then a constant. */
  output: readonly number[]
  /** Below which confidence nothing fits, most likely, by the sign of how many tools there are; ascending. */
  least: readonly (readonly [tools: number, confidence: number])[]
}

export type Confidence = {
  /** 0 to 1. */
  value: number
  /** Below it the search says that probably nothing fits. */
  least: number
  network: Network
}

const FARTHEST = 3
const NETWORKS = learned.networks as unknown as Readonly<Record<'words' | 'meaning', Network>>

/** `pending`: whether documents without a vector may fit better than those with one. */
export function confidenceIn(signs: Signs, pending: boolean): Confidence {
  const words = rate(NETWORKS.words, signs)
  if (signs.cosine === undefined) return words
  const meaning = rate(NETWORKS.meaning, signs)
  return pending && words.value / words.least > meaning.value / meaning.least ? words : meaning
}

/** The logarithm of the odds: output · tanh(hidden · standardized signs). */
export function oddsOf(network: Network, signs: Signs): number {
  const { hidden, output } = network
  const inputs = inputsOf(network, signs)
  return hidden.reduce((odds, weights, at) => {
    const sum = inputs.reduce(
      (sum, input, sign) => sum + input * (weights[sign] as number),
      weights[inputs.length] as number,
    )
    return odds + Math.tanh(sum) * (output[at] as number)
  }, output[hidden.length] as number)
}

/** The signs in standard deviations from the usual; what is farther away than anything learned from counts as if it were nearer. */
export function inputsOf(
  { signs: names, usual, unit }: Pick<Network, 'signs' | 'usual' | 'unit'>,
  signs: Signs,
): number[] {
  return names.map((name, at) => {
    const deviations = ((signs[name] as number) - (usual[at] as number)) / (unit[at] as number)
    return Math.min(FARTHEST, Math.max(-FARTHEST, deviations))
  })
}

/** How much each sign raises the logarithm of the odds above what it would be if this sign were as usual; most first. */
export function effectsOf({ network }: Confidence, signs: Signs): ExplainedSign[] {
  const odds = oddsOf(network, signs)
  const usual = new Map(network.signs.map((sign, at) => [sign, network.usual[at]]))
  const entries = Object.entries(signs) as [Sign, number][]
  return entries
    .map(([sign, value]) => {
      const without = oddsOf(network, { ...signs, [sign]: usual.get(sign) })
      return { sign, value, effect: odds - without }
    })
    .sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect))
}

export type ExplainedSign = { sign: Sign; value: number; effect: number }

function rate(network: Network, signs: Signs): Confidence {
  return { value: 1 / (1 + Math.exp(-oddsOf(network, signs))), least: leastOf(network, signs.tools), network }
}

/** Straight lines between the points, and flat beyond them. */
function leastOf({ least }: Network, tools: number): number {
  const next = least.findIndex(([own]) => own >= tools)
  const to = least.at(next)
  const from = next > 0 ? least[next - 1] : to
  if (!from || !to) return 0
  const part = from === to ? 0 : (tools - from[0]) / (to[0] - from[0])
  return from[1] + part * (to[1] - from[1])
}
