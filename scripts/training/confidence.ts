/**
 * Trains the network that predicts how likely the first hit of a search does what the query asks, and chooses the confidence below which the
 * search answers that nothing fits.
 * `node scripts/training/confidence.ts` takes some minutes, mostly for encoding, and needs the model (`npx portolan model`). Run it after
 * fusion.ts, whose weights it uses.
 *
 * Only queries for servers that the encoder was not trained on are used. The network is evaluated by two-fold cross-validation, as in
 * fusion.ts. The threshold for each catalog size is the one at which the cross-validation marks FALSE_MARKS of the served queries.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Vector } from '../../core/catalog/vectors.ts'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'
import { ADAPTER_SHA256 } from '../../core/encoder/model-name.mjs'
import { logOddsOf, type Network } from '../../router/catalog/search/confidence.ts'
import {
  type Feature,
  type Features,
  LEXICAL_FEATURES,
  SEMANTIC_FEATURES,
} from '../../router/catalog/search/features.ts'
import { buildIndexAtOnce } from '../../test/search/build-at-once.ts'
import { heldOutCatalog, heldOutJudged, trainedCatalog } from '../../test/search/held-out.ts'
import { openEncoder } from '../../test/search/meaning.ts'
import { ask, type Trial, trialsOf } from '../../test/search/nothing.ts'
import { type Example, trainNetwork } from './network.ts'

const FILE = join(import.meta.dirname, '..', '..', 'router', 'catalog', 'search', 'data', 'confidence.json')
/**
 * The share of served queries that may be marked as if nothing fitted. Both are below the promised 2 %: with vectors, because queries for
 * servers that nothing was learned from are marked somewhat more often; without vectors, because the network that is trained on all servers
 * marks more than the two networks of the cross-validation.
 */
const FALSE_MARKS = { words: 0.012, meaning: 0.018 }
/** Sizes of catalogs, in tools. */
const SIZES = [10, 30, 300] as const
/** This size also needs tools of servers that the encoder was trained on, but not those that kinds.ts uses. Every fifth query is asked there. */
const LARGE = 2_000
const LARGE_STEP = 5
/** Weights of examples by style: there are few made-up requests, and many queries in languages that the search hardly supports. */
const WEIGHTS: Readonly<Record<string, number>> = { request: 10, terse: 2, languages: 0.3 }
/** There are few queries that name a product. */
const NAMED_WEIGHT = 3

function weightOf({ kind, style }: Trial): number {
  return (WEIGHTS[style] ?? 1) * (kind === 'named' ? NAMED_WEIGHT : 1)
}

type TrialExample = Example & { trial: Trial; size: number }

async function readExamples(encoder?: SentenceEncoder): Promise<TrialExample[]> {
  const { signal } = new AbortController()
  const [documents, judged] = [heldOutCatalog(), heldOutJudged()]
  const examples: TrialExample[] = []
  for (const size of [...SIZES, LARGE]) {
    const catalog = size === LARGE ? [...documents, ...trainedCatalog()] : documents
    const queries = judged.queries.filter((_, at) => size !== LARGE || at % LARGE_STEP === 0)
    const trials = trialsOf(catalog, { ...judged, queries }, size)
    const answers = await ask(
      buildIndexAtOnce(catalog),
      trials,
      encoder,
      signal,
      (part, { query }, meaning) => part.explain(query, { limit: 1, meaning }).confidence?.features,
    )
    for (const { trial, answer } of answers)
      if (answer) {
        const features = Object.fromEntries(answer.map(({ feature, value }) => [feature, value])) as Features
        examples.push({ features, fits: trial.kind === 'served', weight: weightOf(trial), trial, size })
      }
  }
  return examples
}

/** The network trained on all servers. Its thresholds and figures are those of the cross-validation. */
function train(examples: readonly TrialExample[], features: readonly Feature[], falseMarks: number) {
  const servers = [...new Set(examples.map(({ trial }) => trial.server))]
  const halfOf = ({ trial }: TrialExample) => servers.indexOf(trial.server) % 2
  const networks = [0, 1].map(half =>
    trainNetwork(
      examples.filter(example => halfOf(example) !== half),
      features,
    ),
  )
  const rated = examples.map(example => {
    const network = networks[halfOf(example)] as Omit<Network, 'thresholds'>
    return { ...example, logOdds: logOddsOf({ ...network, thresholds: [] }, example.features) }
  })
  const served = rated.filter(({ trial, fits }) => fits && trial.style !== 'languages')
  const bySize = Map.groupBy(served, ({ size }) => size)
  const thresholdOf = (group: typeof served) =>
    quantile(
      group.map(({ logOdds }) => logOdds),
      falseMarks,
    )
  const thresholds = new Map([...bySize].map(([size, group]) => [size, thresholdOf(group)]))
  const groups = Map.groupBy(rated, ({ trial, size }) => `${trial.kind} ${trial.style} ${size}`)
  const isMarked = ({ logOdds, size }: (typeof rated)[number]) => logOdds < (thresholds.get(size) as number)
  const marked = [...groups].map(([name, group]): [string, number] => [
    name,
    Number((group.filter(isMarked).length / group.length).toFixed(3)),
  ])
  const points = [...bySize].map(([size, group]): [number, number] => [
    rounded(group.reduce((sum, example) => sum + example.features.tools, 0) / group.length),
    rounded(1 / (1 + Math.exp(-(thresholds.get(size) as number)))),
  ])
  const network = { ...trainNetwork(examples, features), thresholds: points }
  return { network, marked: Object.fromEntries(marked) }
}

/** The value below which this share of the values is. */
function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length * share)] as number
}

function rounded(value: number): number {
  return Number(value.toFixed(4))
}

/** An encoder that encodes each query only once, since every size asks the same queries. */
function memoized(encoder: SentenceEncoder): SentenceEncoder {
  const known = new Map<string, Promise<Vector>>()
  const encodeQuery = (query: string) => {
    const vector = known.get(query) ?? encoder.encodeQuery(query)
    known.set(query, vector)
    return vector
  }
  return { ...encoder, encodeQuery }
}

const words = train(await readExamples(), LEXICAL_FEATURES, FALSE_MARKS.words)
const encoder = await openEncoder()
const examples = await readExamples(memoized(encoder))
await encoder.close()
const meaning = train(examples, [...LEXICAL_FEATURES, ...SEMANTIC_FEATURES], FALSE_MARKS.meaning)
const from = { script: 'scripts/training/confidence.ts', adapter: ADAPTER_SHA256, queries: examples.length }
const learned = {
  networks: { words: words.network, meaning: meaning.network },
  from,
  crossValidatedMarks: { words: words.marked, meaning: meaning.marked },
}
writeFileSync(FILE, `${JSON.stringify(learned, undefined, 1)}\n`)
