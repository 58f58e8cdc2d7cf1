/** The index of some documents of an index: it answers as one built from them alone would, and shares the whole's postings. Pure. */
import { createSizedCache } from '../../../core/sized-cache.ts'
import type { IndexSources, LexicalIndex } from './build.ts'
import { createPartCorpus, type Lists, type Parts } from './part-corpus.ts'
import type { SearchDocument, SearchOptions, VectorTable } from './search-index.ts'

/** Postings in the cached lists of all parts: at most 8 MB. */
const LIST_ROOM = 2_000_000
/** The memory that a list takes besides its postings, in the size of a posting. */
const OVERHEAD = 50

/** Returns the function that makes the index of a part from the ids of its documents, in ascending order. */
export function createParts(
  sources: IndexSources,
  indexOf: (sources: IndexSources) => Omit<LexicalIndex, 'under'>,
): LexicalIndex['under'] {
  const { corpus, products, makeTranslator } = sources
  const parts: Parts = { ...sources, lists: createSizedCache(LIST_ROOM, sizeOf) }
  let made = 0
  const scattered = new Float32Array(corpus.documents.length)
  const under = (members: Int32Array): LexicalIndex => {
    const places = placesOf(members, corpus.documents.length)
    const isIn = (document: number) => (places[document] as number) >= 0
    const servers = new Set(members.map(document => corpus.serverOf[document] as number))
    const index = indexOf({
      ...sources,
      corpus: createPartCorpus(parts, members, isIn, made++),
      translate: makeTranslator(term => products.get(term)?.some(server => servers.has(server)) === true),
    })
    const optionsInWhole = (options: SearchOptions) => inWhole(options, places, members, scattered)
    return {
      ...index,
      get documents() {
        return Array.from(members, document => corpus.documents[document] as SearchDocument)
      },
      search(query, options) {
        const { hits, ...rest } = index.search(query, optionsInWhole(options))
        const toPlace = (document: number) => places[document] as number
        return { hits: hits.map(hit => ({ ...hit, document: toPlace(hit.document) })), ...rest }
      },
      explain: (query, options) => index.explain(query, optionsInWhole(options)),
      under: some => under(some.map(place => members[place] as number)),
    }
  }
  return under
}

function sizeOf(lists: Lists): number {
  return lists.length + OVERHEAD
}

/** By document of the whole: its place in the part, or -1. */
function placesOf(members: Int32Array, size: number): Int32Array {
  const places = new Int32Array(size).fill(-1)
  for (const [place, document] of members.entries()) places[document] = place
  return places
}

/** The options of a search in a part as those of the same search in the whole. */
function inWhole(
  { limit, visible, meaning }: SearchOptions,
  places: Int32Array,
  members: Int32Array,
  scattered: Float32Array,
): SearchOptions {
  return {
    limit,
    visible: document => {
      const place = places[document] as number
      return place >= 0 && (visible === undefined || visible(place))
    },
    meaning: meaning && {
      ...meaning,
      documents: scatterTable(meaning.documents, places, members, scattered),
    },
  }
}

/** The vectors of a part as a table of the whole: similarities of documents outside of the part are NaN. `scattered`: memory for them. */
function scatterTable(
  table: VectorTable,
  places: Int32Array,
  members: Int32Array,
  scattered: Float32Array,
): VectorTable {
  return {
    pending: table.pending,
    isFamiliar: table.isFamiliar,
    isKnown: document => table.isKnown(places[document] as number),
    similarities(query) {
      const ofPart = table.similarities(query)
      scattered.fill(Number.NaN)
      for (let place = 0; place < members.length; place++)
        scattered[members[place] as number] = ofPart[place] as number
      return scattered
    },
  }
}
