/**
 * Learns the weights that combine lexical and semantic scores, from the parts of scores that the search itself computes, and writes them
 * into the file that the router reads.
 * `node scripts/training/fusion.ts` takes some minutes, mostly for encoding, and needs the model (`npx portolan model`).
 *
 * Only servers that the encoder was not trained on are used: for the others, semantic scores are better than they would be in practice.
 * The weights are evaluated by two-fold cross-validation: learned from every second server, measured on the others, and the reverse.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ADAPTER_SHA256 } from '../../core/encoder/model-name.mjs'
import {
  combinedScore,
  type FusionWeights,
  lexicalScale,
  semanticOf,
  WEIGHTS,
} from '../../router/catalog/search/fusion.ts'
import { type Measures, mean, measureRanking } from '../../router/catalog/search/measures.ts'
import type { ExplainedHit, Explanation, SearchIndex } from '../../router/catalog/search/search-index.ts'
import { buildIndexAtOnce } from '../../test/search/build-at-once.ts'
import type { JudgedQuery } from '../../test/search/catalogs.ts'
import { heldOutCatalog, heldOutQueries } from '../../test/search/held-out.ts'
import { openEncoder, withMeaning } from '../../test/search/meaning.ts'

const FILE = join(import.meta.dirname, '..', '..', 'router', 'catalog', 'search', 'data', 'fusion.json')
/** How many hits of each query are used. A query is ignored if no relevant tool is among them. */
const CANDIDATES = 60
/** `sharpness`: the inverse temperature of the softmax over scores. It is learned too, but the search does not need it. */
type Learned = FusionWeights & { sharpness: number }
/**
 * `server` is not learned. The loss hardly depends on it here, where every server has a unique product name; but with a smaller value,
 * searches of the labelled sets of public servers get worse.
 */
const START: Learned = { words: 0.5, server: 0.68, width: 3, sharpness: 10 }
const LEARNED = ['words', 'width', 'sharpness'] as const
const FIRST_STEP = 0.3
const MIN_STEP = 0.005

/** A hit with the parts of its score: `own` is the lexical score of the tool itself, `server` that of its server. */
type Candidate = {
  own: number
  server: number
  cosine: number
  action: number
  relevant: boolean
  hit: ExplainedHit
}
type Example = {
  judged: JudgedQuery
  scale: number
  standardDeviation: number
  nearest: number
  candidates: Candidate[]
}

/** The parts of the scores of one query. Lexical parts are divided by the greatest lexical score. */
function exampleOf(judged: JudgedQuery, { coverage, similarity, hits }: Explanation): Example {
  const own = (hit: ExplainedHit) => hit.matched.reduce((sum, { score }) => sum + score, 0) * hit.nameFactor
  const maxLexical = Math.max(...hits.map(hit => own(hit) + hit.serverScore)) || 1
  const { max, min } = similarity ?? { max: 0, min: 0 }
  const isRelevant = ({ server, tool }: ExplainedHit) =>
    judged.relevant.some(one => one.server === server && one.tool === tool)
  const candidates = hits.map(hit => ({
    own: own(hit) / maxLexical,
    server: hit.serverScore / maxLexical,
    cosine: hit.cosine ?? Number.NaN,
    action: hit.actionFactor,
    relevant: isRelevant(hit),
    hit,
  }))
  return {
    judged,
    scale: lexicalScale(coverage),
    standardDeviation: (max - min) / WEIGHTS.width,
    nearest: max,
    candidates,
  }
}

function scoresOf(
  { scale, standardDeviation, nearest, candidates }: Example,
  weights: FusionWeights,
): number[] {
  const range = { max: nearest, min: nearest - weights.width * standardDeviation }
  return candidates.map(({ own, server, cosine, action }) => {
    const lexical = scale * (own + weights.server * server)
    return combinedScore(lexical, semanticOf(cosine, lexical, range), weights) * action
  })
}

/** The loss that is minimised: the mean cross-entropy of the relevant tools in a softmax over the candidates' scores. */
function lossOf(examples: readonly Example[], weights: Learned): number {
  const losses = examples.map(example => {
    const odds = scoresOf(example, weights).map(score => Math.exp(weights.sharpness * score))
    const right = odds.filter((_, at) => example.candidates[at]?.relevant).reduce((sum, one) => sum + one, 0)
    return Math.log(odds.reduce((sum, one) => sum + one, 0)) - Math.log(right)
  })
  return losses.reduce((sum, loss) => sum + loss, 0) / losses.length
}

/** Compass search: tries a step up and down for each weight, and halves the step when none of them reduces the loss. */
function learn(all: readonly Example[]): Learned {
  const examples = all.filter(({ candidates }) => candidates.some(({ relevant }) => relevant))
  let best = START
  let loss = lossOf(examples, best)
  for (let step = FIRST_STEP; step >= MIN_STEP; ) {
    let helped = false
    for (const name of LEARNED)
      for (const factor of [1 + step, 1 / (1 + step)]) {
        const tried = { ...best, [name]: best[name] * factor }
        const other = tried.words < 1 ? lossOf(examples, tried) : Number.POSITIVE_INFINITY
        if (other < loss) [best, loss, helped] = [tried, other, true]
      }
    if (!helped) step /= 2
  }
  return best
}

/** The mean measures of the ranking that these weights give. */
function measured(examples: readonly Example[], weights: FusionWeights): Measures {
  return mean(
    examples.map(example => {
      const scores = scoresOf(example, weights)
      const order = example.candidates.map((one, at) => ({ ...one.hit, at }))
      const found = order.sort((a, b) => (scores[b.at] as number) - (scores[a.at] as number))
      return { measures: measureRanking(found, example.judged.relevant), weight: 1 }
    }),
  )
}

async function readExamples(): Promise<Example[]> {
  const queries = heldOutQueries()
  const encoder = await openEncoder()
  const index: SearchIndex = await withMeaning(
    buildIndexAtOnce(heldOutCatalog()),
    queries.map(({ query }) => query),
    encoder,
    new AbortController().signal,
  )
  await encoder.close()
  return queries.map(judged => exampleOf(judged, index.explain(judged.query, { limit: CANDIDATES })))
}

function rounded({ words, server, width }: FusionWeights): FusionWeights {
  const two = (value: number) => Number(value.toFixed(2))
  return { words: two(words), server: two(server), width: two(width) }
}

const examples = await readExamples()
const servers = [...new Set(examples.map(({ judged }) => judged.relevant[0]?.server))]
const isInFirstHalf = ({ judged }: Example) => servers.indexOf(judged.relevant[0]?.server) % 2 === 0
const halves = [examples.filter(isInFirstHalf), examples.filter(example => !isInFirstHalf(example))] as const
const weights = rounded(learn(examples))
const crossValidated = mean([validate(halves[0], halves[1]), validate(halves[1], halves[0])])
const before = measured(examples, WEIGHTS)
process.stdout.write(
  `${JSON.stringify({ weights, before, after: measured(examples, weights), crossValidated }, undefined, 2)}\n`,
)
const from = { script: 'scripts/training/fusion.ts', adapter: ADAPTER_SHA256, queries: examples.length }
const figures = { recall5: three(crossValidated.recall5), ndcg10: three(crossValidated.ndcg10) }
writeFileSync(FILE, `${JSON.stringify({ weights, from, crossValidated: figures }, undefined, 2)}\n`)

/** Learns from one half of the servers, and measures on the other. */
function validate(from: readonly Example[], to: readonly Example[]): { measures: Measures; weight: number } {
  return { measures: measured(to, rounded(learn(from))), weight: to.length }
}

/** Rounds to three decimals. */
function three(value: number): number {
  return Number(value.toFixed(3))
}
