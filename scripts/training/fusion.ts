/**
 * Learns what joins words and meaning from the parts that the search itself computes, and writes it where the router reads it.
 * `node scripts/training/fusion.ts`: some minutes, nearly all of them for encoding; needs the model (`npx portolan model`).
 *
 * Servers that the encoder was trained on would make meaning look better than it is, so only those held out are used. How good the
 * weights are is measured crosswise: those learned from every second server on the others, and the reverse.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ADAPTER_SHA256 } from '../../core/encoder/model-name.mjs'
import {
  type FusionWeights,
  joined,
  semanticOf,
  trustOf,
  WEIGHTS,
} from '../../router/catalog/search/fusion.ts'
import { type Measures, mean, measureRanking } from '../../router/catalog/search/measures.ts'
import type { ExplainedHit, Explanation, SearchIndex } from '../../router/catalog/search/search-index.ts'
import { buildIndexAtOnce } from '../../test/search/build-at-once.ts'
import type { JudgedQuery } from '../../test/search/catalogs.ts'
import { heldOutCatalog, heldOutQueries } from '../../test/search/held-out.ts'
import { openEncoder, withMeaning } from '../../test/search/meaning.ts'

const FILE = join(import.meta.dirname, '..', '..', 'router', 'catalog', 'search', 'data', 'fusion.json')
/** Tools a query that are told apart; what is not among them cannot be learned from. */
const CANDIDATES = 60
/** How sharply scores become probabilities; learned too, but of no use to the search. */
type Learned = FusionWeights & { sharpness: number }
/**
 * `server` stays as it is: what is lost hardly depends on it here, where every server has a product's name of its own; the labelled sets of
 * public servers find less with a smaller one.
 */
const START: Learned = { words: 0.5, server: 0.68, width: 3, sharpness: 10 }
const LEARNED = ['words', 'width', 'sharpness'] as const
const FIRST_STEP = 0.3
const LEAST_STEP = 0.005

type Candidate = {
  own: number
  server: number
  cosine: number
  action: number
  relevant: boolean
  hit: ExplainedHit
}
type Lesson = { judged: JudgedQuery; trust: number; spread: number; nearest: number; candidates: Candidate[] }

/** The parts of the scores of one query, with what its words are worth at most as the unit. */
function lessonOf(judged: JudgedQuery, { cover, similarity, hits }: Explanation): Lesson {
  const own = (hit: ExplainedHit) => hit.met.reduce((sum, { score }) => sum + score, 0) * hit.nameFactor
  const most = Math.max(...hits.map(hit => own(hit) + hit.serverScore)) || 1
  const { best, least } = similarity ?? { best: 0, least: 0 }
  const isRelevant = ({ server, tool }: ExplainedHit) =>
    judged.relevant.some(one => one.server === server && one.tool === tool)
  const candidates = hits.map(hit => ({
    own: own(hit) / most,
    server: hit.serverScore / most,
    cosine: hit.cosine ?? Number.NaN,
    action: hit.actionFactor,
    relevant: isRelevant(hit),
    hit,
  }))
  return { judged, trust: trustOf(cover), spread: (best - least) / WEIGHTS.width, nearest: best, candidates }
}

function scoresOf({ trust, spread, nearest, candidates }: Lesson, weights: FusionWeights): number[] {
  const range = { best: nearest, least: nearest - weights.width * spread }
  return candidates.map(({ own, server, cosine, action }) => {
    const lexical = trust * (own + weights.server * server)
    return joined(lexical, semanticOf(cosine, lexical, range), weights) * action
  })
}

/** Mean surprise that the right tool is the one: what is minimised. */
function lossOf(lessons: readonly Lesson[], weights: Learned): number {
  const losses = lessons.map(lesson => {
    const odds = scoresOf(lesson, weights).map(score => Math.exp(weights.sharpness * score))
    const right = odds.filter((_, at) => lesson.candidates[at]?.relevant).reduce((sum, one) => sum + one, 0)
    return Math.log(odds.reduce((sum, one) => sum + one, 0)) - Math.log(right)
  })
  return losses.reduce((sum, loss) => sum + loss, 0) / losses.length
}

/** Compass search: tries each number a step up and down, and halves the steps where nothing helps. */
function learn(all: readonly Lesson[]): Learned {
  const lessons = all.filter(({ candidates }) => candidates.some(({ relevant }) => relevant))
  let best = START
  let loss = lossOf(lessons, best)
  for (let step = FIRST_STEP; step >= LEAST_STEP; ) {
    let helped = false
    for (const name of LEARNED)
      for (const factor of [1 + step, 1 / (1 + step)]) {
        const tried = { ...best, [name]: best[name] * factor }
        const other = tried.words < 1 ? lossOf(lessons, tried) : Number.POSITIVE_INFINITY
        if (other < loss) [best, loss, helped] = [tried, other, true]
      }
    if (!helped) step /= 2
  }
  return best
}

function measured(lessons: readonly Lesson[], weights: FusionWeights): Measures {
  return mean(
    lessons.map(lesson => {
      const scores = scoresOf(lesson, weights)
      const order = lesson.candidates.map((one, at) => ({ ...one.hit, at }))
      const found = order.sort((a, b) => (scores[b.at] as number) - (scores[a.at] as number))
      return { measures: measureRanking(found, lesson.judged.relevant), weight: 1 }
    }),
  )
}

async function readLessons(): Promise<Lesson[]> {
  const queries = heldOutQueries()
  const encoder = await openEncoder()
  const index: SearchIndex = await withMeaning(
    buildIndexAtOnce(heldOutCatalog()),
    queries.map(({ query }) => query),
    encoder,
    new AbortController().signal,
  )
  await encoder.close()
  return queries.map(judged => lessonOf(judged, index.explain(judged.query, { limit: CANDIDATES })))
}

function rounded({ words, server, width }: FusionWeights): FusionWeights {
  const two = (value: number) => Number(value.toFixed(2))
  return { words: two(words), server: two(server), width: two(width) }
}

const lessons = await readLessons()
const servers = [...new Set(lessons.map(({ judged }) => judged.relevant[0]?.server))]
const isFirst = ({ judged }: Lesson) => servers.indexOf(judged.relevant[0]?.server) % 2 === 0
const halves = [lessons.filter(isFirst), lessons.filter(lesson => !isFirst(lesson))] as const
const weights = rounded(learn(lessons))
const crossed = mean([cross(halves[0], halves[1]), cross(halves[1], halves[0])])
const before = measured(lessons, WEIGHTS)
process.stdout.write(
  `${JSON.stringify({ weights, before, after: measured(lessons, weights), crossed }, undefined, 2)}\n`,
)
const from = { script: 'scripts/training/fusion.ts', adapter: ADAPTER_SHA256, queries: lessons.length }
const figures = { recall5: three(crossed.recall5), ndcg10: three(crossed.ndcg10) }
writeFileSync(FILE, `${JSON.stringify({ weights, from, crossValidated: figures }, undefined, 2)}\n`)

/** What the servers of one half reach with what was learned from the other. */
function cross(from: readonly Lesson[], to: readonly Lesson[]): { measures: Measures; weight: number } {
  return { measures: measured(to, rounded(learn(from))), weight: to.length }
}

function three(value: number): number {
  return Number(value.toFixed(3))
}
