/** What the search is measured on: every labelled set with its share in the mean, and the least that it must reach. */
import type { Measures } from '../../router/catalog/search/measures.ts'
import type { SearchDocument } from '../../router/catalog/search/search-index.ts'
import {
  extraQueries,
  type JudgedQuery,
  labelledSet,
  ownCatalog,
  ownExtras,
  ownQueries,
  recordedCatalog,
  recordedQueries,
} from './catalogs.ts'
import { heldOutCatalog, heldOutQueries } from './held-out.ts'

/** Least nDCG@10 and recall@5, by words alone and with the model. */
export type Floors = { words: Floor; meaning: Floor }
type Floor = readonly [ndcg10: number, recall5: number]

export type Labelled = {
  name: string
  documents: readonly SearchDocument[]
  queries: readonly JudgedQuery[]
  floors: Floors
  /** Share in the mean that the quality gate is about; 0: none. */
  weight: number
}

/** The sets beside the project: their share in the mean, the floors, and how many of their queries count. */
const SHARED: [set: string, queries: string, weight: number, floors: Floors, first?: number][] = [
  ['livemcp', 'queries_agentjudged', 2, { words: [0.83, 0.91], meaning: [0.86, 0.92] }],
  ['livemcp', 'queries_step_clean', 2, { words: [0.89, 0.95], meaning: [0.9, 0.98] }],
  ['mcpzero', 'queries_agent', 2, { words: [0.91, 0.98], meaning: [0.94, 0.98] }],
  ['mcpzero', 'queries_user', 3, { words: [0.69, 0.82], meaning: [0.77, 0.88] }],
  ['mcpzero', 'queries_tsb_paraphrase', 1, { words: [0.7, 0.9], meaning: [0.85, 0.9] }],
  ['mcpzero', 'queries_tsb_exact', 0.5, { words: [0.83, 0.9], meaning: [0.85, 0.98] }],
  ['mcpproxy45', 'queries', 1.5, { words: [0.81, 0.93], meaning: [0.89, 0.94] }],
  ['gtc-k8s', 'queries', 1, { words: [0.83, 0.89], meaning: [0.93, 0.97] }],
  ['gtc-github', 'queries', 0.75, { words: [0.91, 0.98], meaning: [0.91, 0.98] }],
  ['gtc-mixed_mcp', 'queries', 0.5, { words: [0.89, 0.98], meaning: [0.92, 0.98] }],
  ['gtc-multi_mcp', 'queries', 0.5, { words: [0.96, 0.94], meaning: [0.91, 0.94] }],
  ['bfcl-live', 'queries', 1, { words: [0.84, 0.9], meaning: [0.85, 0.91] }, 300],
]
/** What our own queries reach, by style: those of the project's catalog, of its extras, of the recorded one. */
const OWN: Record<string, Floors> = {
  terse: { words: [0.96, 1], meaning: [0.96, 1] },
  everyday: { words: [0.79, 0.86], meaning: [0.87, 0.93] },
  paraphrase: { words: [0.56, 0.66], meaning: [0.81, 0.93] },
  hard: { words: [0.83, 0.93], meaning: [0.91, 0.93] },
}
const EXTRAS: Record<string, Floors> = {
  terse: { words: [0.98, 1], meaning: [0.98, 1] },
  everyday: { words: [0.85, 0.9], meaning: [0.89, 1] },
  paraphrase: { words: [0.58, 0.7], meaning: [0.7, 0.9] },
}
const RECORDED: Record<string, Floors> = {
  terse: { words: [0.95, 0.96], meaning: [0.97, 0.96] },
  everyday: { words: [0.78, 0.86], meaning: [0.85, 0.9] },
  paraphrase: { words: [0.77, 0.9], meaning: [0.83, 0.86] },
  hard: { words: [0.84, 0.9], meaning: [0.85, 0.9] },
}
/** What the servers reach that the training data holds out. */
const HELD_OUT: Record<string, Floors> = {
  terse: { words: [0.94, 0.97], meaning: [0.97, 0.99] },
  everyday: { words: [0.61, 0.67], meaning: [0.84, 0.91] },
  paraphrase: { words: [0.49, 0.56], meaning: [0.81, 0.9] },
  hard: { words: [0.58, 0.67], meaning: [0.69, 0.785] },
  languages: { words: [0.41, 0.53], meaning: [0.63, 0.73] },
}
/** Of the weighted mean of the sets beside the project. */
export const MEAN_FLOORS: Floors = { words: [0.836, 0.925], meaning: [0.904, 0.964] }

export function ownSets(): Labelled[] {
  return [
    ...byStyle('own', ownCatalog(), ownQueries(), OWN),
    ...byStyle('resources and prompts', ownExtras(), extraQueries(), EXTRAS),
    ...byStyle('held out of training', heldOutCatalog(), heldOutQueries(), HELD_OUT),
  ]
}

/** Undefined where they are not beside the project. */
export function sharedSets(): Labelled[] | undefined {
  const recorded = recordedCatalog()
  const catalogs = new Map<string, SearchDocument[]>()
  const sets = SHARED.map(([set, file, weight, floors, first]): Labelled | undefined => {
    const labelled = labelledSet(set, file)
    if (!labelled) return undefined
    const name = file === 'queries' ? set : `${set} ${file.replace('queries_', '')}`
    const documents = catalogs.get(set) ?? labelled.documents
    catalogs.set(set, documents)
    return { name, documents, queries: labelled.queries.slice(0, first), floors, weight }
  })
  if (!recorded || !sets.every(set => set !== undefined)) return undefined
  return [...sets, ...byStyle('recorded', recorded, recordedQueries(), RECORDED)]
}

export function describeMeasures(name: string, measures: Measures): string {
  const figures = Object.entries(measures).map(([measure, value]) => `${measure} ${value.toFixed(3)}`)
  return `${name}: ${figures.join(', ')}`
}

/** What fell below its floor, each in a sentence. */
export function belowFloor(name: string, { ndcg10, recall5 }: Measures, [ndcg, recall]: Floor): string[] {
  return [
    ...(ndcg10 < ndcg ? [`${name}: nDCG@10 ${ndcg10.toFixed(4)} is below ${ndcg}`] : []),
    ...(recall5 < recall ? [`${name}: recall@5 ${recall5.toFixed(4)} is below ${recall}`] : []),
  ]
}

function byStyle(
  name: string,
  documents: SearchDocument[],
  queries: JudgedQuery[],
  floors: Record<string, Floors>,
): Labelled[] {
  return Object.entries(floors).map(([style, floors]) => ({
    name: `${name}, ${style}`,
    documents,
    queries: queries.filter(judged => judged.style === style),
    floors,
    weight: 0,
  }))
}
