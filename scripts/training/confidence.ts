/**
 * Learns how sure the search can be that its first hit does what a query asks, and below which confidence it says that nothing fits.
 * `node scripts/training/confidence.ts`: some minutes, nearly all of them for encoding; needs the model (`npx portolan model`).
 * Run it after fusion.ts, whose weights it builds on.
 *
 * Only servers that the encoder was not trained on are asked for. How good the network is is measured crosswise, as there, and the
 * thresholds, one for each size of catalog, are those that mark 2 % of what something serves then.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Vector } from '../../core/catalog/vectors.ts'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'
import { ADAPTER_SHA256 } from '../../core/encoder/model-name.mjs'
import { type Network, oddsOf } from '../../router/catalog/search/confidence.ts'
import { MEANING_SIGNS, type Sign, type Signs, WORD_SIGNS } from '../../router/catalog/search/signs.ts'
import { buildIndexAtOnce } from '../../test/search/build-at-once.ts'
import { heldOutCatalog, heldOutJudged, trainedCatalog } from '../../test/search/held-out.ts'
import { openEncoder } from '../../test/search/meaning.ts'
import { ask, type Trial, trialsOf } from '../../test/search/nothing.ts'
import { type Example, learnNetwork } from './network.ts'

const FILE = join(import.meta.dirname, '..', '..', 'router', 'catalog', 'search', 'data', 'confidence.json')
/** Of all queries that something serves, so many may be marked; by words alone, the network of all servers marks more than those of half. */
const FALSE_MARKS = { words: 0.012, meaning: 0.02 }
const SIZES = [10, 30, 300] as const
/** With the tools of servers that were trained on, without those that kinds of tools are known from; every fifth query is asked there. */
const LARGE = 2_000
const LARGE_SHARE = 5
/** There are few requests made up for this and few queries that name a product, and many in languages that the search hardly knows. */
const WEIGHTS: Readonly<Record<string, number>> = { request: 10, terse: 2, languages: 0.3 }
const NAMED_WEIGHT = 3

function weightOf({ kind, style }: Trial): number {
  return (WEIGHTS[style] ?? 1) * (kind === 'named' ? NAMED_WEIGHT : 1)
}

type Lesson = Example & { trial: Trial; size: number }

async function readLessons(encoder?: SentenceEncoder): Promise<Lesson[]> {
  const { signal } = new AbortController()
  const [documents, judged] = [heldOutCatalog(), heldOutJudged()]
  const lessons: Lesson[] = []
  for (const size of [...SIZES, LARGE]) {
    const catalog = size === LARGE ? [...documents, ...trainedCatalog()] : documents
    const queries = judged.queries.filter((_, at) => size !== LARGE || at % LARGE_SHARE === 0)
    const trials = trialsOf(catalog, { ...judged, queries }, size)
    const answers = await ask(
      buildIndexAtOnce(catalog),
      trials,
      encoder,
      signal,
      (part, { query }, meaning) => part.explain(query, { limit: 1, meaning }).confidence?.signs,
    )
    for (const { trial, answer } of answers)
      if (answer) {
        const signs = Object.fromEntries(answer.map(({ sign, value }) => [sign, value])) as Signs
        lessons.push({ signs, fits: trial.kind === 'served', weight: weightOf(trial), trial, size })
      }
  }
  return lessons
}

/** The network learned from all, with figures of those that were learned from every second server. */
function learn(lessons: readonly Lesson[], signs: readonly Sign[], falseMarks: number) {
  const servers = [...new Set(lessons.map(({ trial }) => trial.server))]
  const halfOf = ({ trial }: Lesson) => servers.indexOf(trial.server) % 2
  const crossed = [0, 1].map(half =>
    learnNetwork(
      lessons.filter(lesson => halfOf(lesson) !== half),
      signs,
    ),
  )
  const rated = lessons.map(lesson => {
    const network = crossed[halfOf(lesson)] as Omit<Network, 'least'>
    return { ...lesson, odds: oddsOf({ ...network, least: [] }, lesson.signs) }
  })
  const served = rated.filter(({ trial, fits }) => fits && trial.style !== 'languages')
  const bySize = Map.groupBy(served, ({ size }) => size)
  const leastOf = (own: typeof served) =>
    lowest(
      own.map(({ odds }) => odds),
      falseMarks,
    )
  const least = new Map([...bySize].map(([size, own]) => [size, leastOf(own)]))
  const groups = Map.groupBy(rated, ({ trial, size }) => `${trial.kind} ${trial.style} ${size}`)
  const isMarked = ({ odds, size }: (typeof rated)[number]) => odds < (least.get(size) as number)
  const marked = [...groups].map(([name, own]): [string, number] => [
    name,
    Number((own.filter(isMarked).length / own.length).toFixed(3)),
  ])
  const points = [...bySize].map(([size, own]): [number, number] => [
    rounded(own.reduce((sum, lesson) => sum + lesson.signs.tools, 0) / own.length),
    rounded(1 / (1 + Math.exp(-(least.get(size) as number)))),
  ])
  const network = { ...learnNetwork(lessons, signs), least: points }
  return { network, marked: Object.fromEntries(marked) }
}

/** Below it is this share of the odds. */
function lowest(odds: readonly number[], share: number): number {
  const sorted = odds.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length * share)] as number
}

function rounded(value: number): number {
  return Number(value.toFixed(4))
}

/** Encodes each query once, for all sizes. */
function remembering(encoder: SentenceEncoder): SentenceEncoder {
  const known = new Map<string, Promise<Vector>>()
  const encodeQuery = (query: string) => {
    const vector = known.get(query) ?? encoder.encodeQuery(query)
    known.set(query, vector)
    return vector
  }
  return { ...encoder, encodeQuery }
}

const words = learn(await readLessons(), WORD_SIGNS, FALSE_MARKS.words)
const encoder = await openEncoder()
const lessons = await readLessons(remembering(encoder))
await encoder.close()
const meaning = learn(lessons, [...WORD_SIGNS, ...MEANING_SIGNS], FALSE_MARKS.meaning)
const from = { script: 'scripts/training/confidence.ts', adapter: ADAPTER_SHA256, queries: lessons.length }
const learned = {
  networks: { words: words.network, meaning: meaning.network },
  from,
  crossValidatedMarks: { words: words.marked, meaning: meaning.marked },
}
writeFileSync(FILE, `${JSON.stringify(learned, undefined, 1)}\n`)
