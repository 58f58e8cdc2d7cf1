/** The corpus of a part of the documents: it shares the postings of the whole, but all statistics are those of the part. Pure. */
import { BoundedMap } from '../../../core/bounded-map.ts'
import type { SizedCache } from '../../../core/sized-cache.ts'
import {
  type Corpus,
  FIELD_WEIGHTS,
  type FieldWeight,
  SERVER_SATURATION,
  SERVER_TENTHS,
  serverWeight,
  TOOL_SATURATION,
  weightIn,
} from './corpus.ts'
import { FIELDS } from './fields.ts'
import { type Frequencies, WIDTH } from './frequencies.ts'
import type { Lexicon } from './lexicon.ts'
import { documentOf, inverseFrequency, NO_POSTINGS, postingOf, stepOf, type TermLists } from './postings.ts'
import { createSpelling } from './spelling.ts'

/** The postings of a term. */
export type Lists = ReturnType<TermLists['of']>

/** What all parts of an index share. */
export type Parts = {
  corpus: Corpus
  lexicon: Lexicon
  /** Cached postings of all parts, by part and term. */
  lists: SizedCache<Lists>
}

const WEIGHTS = FIELDS.map(field => FIELD_WEIGHTS[field])
/** The maximum number of terms whose counts a part caches. */
const MAX_COUNTS = 2_048

/** Which documents and servers are in a part, and how long they are. */
type Part = {
  isIn: (document: number) => boolean
  size: number
  /** Mean lengths of the fields, in the order of `FIELDS`. */
  averages: number[]
  servers: PartServers
}

/** `first`, `lengths`: by number of server, its first document in the part (-1: none), and the length of its words in tenths (see SERVER_TENTHS); `average`: the mean length of the `count` servers in the part. */
type PartServers = { first: Int32Array; lengths: Float64Array; count: number; average: number }

/** `members`: the ids of the part's documents in ascending order; `isIn`: whether a document is one of them; `id`: the number of the part, for the shared cache. */
export function createPartCorpus(
  { corpus, lexicon, lists }: Parts,
  members: Int32Array,
  isIn: (document: number) => boolean,
  id: number,
): Corpus {
  const part: Part = {
    isIn,
    size: members.length,
    averages: averagesOf(members, corpus.frequencies),
    servers: partServers(members, corpus),
  }
  const cached = (of: TermLists['of'], key: string) => cachedIn(lists, key, corpus, of)
  const tools = {
    count: countIn(corpus, isIn),
    of: cached(toolLists(corpus.frequencies, part), `${id} `),
  }
  const serversOf = cached(serverLists(corpus, part), `${id}:`)
  const servers = {
    of: serversOf,
    count: (term: string) => serversOf(term).length,
  }
  const isWord = (word: string) => tools.count(word) > 0 || lexicon.neighbours(word) !== undefined
  return {
    ...corpus,
    size: part.size,
    tools,
    servers,
    serverCount: part.servers.count,
    names: { ...corpus.names, named: (query, hasUnknown) => corpus.names.named(query, hasUnknown, isIn) },
    nameCoverage: corpus.nameCoverage.under(term => inverseFrequency(tools.count(term), part.size)),
    spelling: createSpelling(corpus.vocabulary, tools.count, isWord),
  }
}

function averagesOf(members: Int32Array, { lengths }: Frequencies): number[] {
  const sums = FIELDS.map(() => 0)
  for (const document of members)
    for (let field = 0; field < WIDTH; field++)
      sums[field] = (sums[field] as number) + (lengths[document * WIDTH + field] as number)
  return sums.map(sum => sum / members.length || 1)
}

const [NAME, SERVER, DESCRIPTION, SERVER_DESCRIPTION] = (
  ['name', 'server', 'description', 'serverDescription'] as const
).map(field => FIELDS.indexOf(field)) as [number, number, number, number]

function partServers(members: Int32Array, corpus: Corpus): PartServers {
  const { lengths } = corpus.frequencies
  const first = new Int32Array(corpus.serverCount).fill(-1)
  const tenths = new Float64Array(corpus.serverCount)
  let count = 0
  for (const document of members) {
    const server = corpus.serverOf[document] as number
    const isFirst = first[server] === -1
    if (isFirst) {
      first[server] = document
      count++
    }
    tenths[server] = (tenths[server] as number) + tenthsOf(lengths, document * WIDTH, isFirst)
  }
  const average = tenths.reduce((sum, length) => sum + length, 0) / count || 1
  return { first, lengths: tenths, count, average }
}

/** What a document adds to its server, in tenths. `numbers`, from `at`: a number for each field, its length or how often it has a term. The server's fields count for its first document. */
function tenthsOf(numbers: ArrayLike<number>, at: number, isFirst: boolean): number {
  const ofTool =
    SERVER_TENTHS.name * (numbers[at + NAME] as number) +
    SERVER_TENTHS.description * (numbers[at + DESCRIPTION] as number)
  if (!isFirst) return ofTool
  const ofServer = SERVER_TENTHS.server * (numbers[at + SERVER] as number)
  return ofTool + ofServer + SERVER_TENTHS.serverDescription * (numbers[at + SERVER_DESCRIPTION] as number)
}

/** Puts the cache in front of `of`. `key`: prefix of the part's entries. */
function cachedIn(
  cache: SizedCache<Lists>,
  key: string,
  { tools }: Corpus,
  of: TermLists['of'],
): TermLists['of'] {
  return term => {
    if (tools.count(term) === 0) return NO_POSTINGS
    const known = cache.get(key + term)
    if (known) return known
    const lists: Lists = of(term)
    cache.set(key + term, lists)
    return lists
  }
}

/** Counts the documents of the part that contain a term. */
function countIn({ tools }: Corpus, isIn: Part['isIn']): TermLists['count'] {
  const counts = new BoundedMap<number>(MAX_COUNTS)
  return term => {
    if (tools.count(term) === 0) return 0
    const known = counts.get(term)
    if (known !== undefined) return known
    let count = 0
    for (const posting of tools.of(term)) if (isIn(documentOf(posting))) count++
    counts.set(term, count)
    return count
  }
}

/** Makes the postings of the documents in the part. */
function toolLists(frequencies: Frequencies, { isIn, averages }: Part): TermLists['of'] {
  return term => {
    const { documents, counts } = frequencies.of(term)
    const postings: number[] = []
    for (let at = 0; at < documents.length; at++) {
      const document = documents[at] as number
      if (!isIn(document)) continue
      const weight = weightOf(counts, at * WIDTH, frequencies.lengths, document * WIDTH, averages)
      postings.push(postingOf(document, stepOf(weight, TOOL_SATURATION)))
    }
    return Uint32Array.from(postings)
  }
}

/** The weight of a term in a document. Adds the same numbers in the same order as the build of the whole index, since another order would round differently. */
function weightOf(
  counts: Uint16Array,
  at: number,
  lengths: Uint32Array,
  from: number,
  averages: readonly number[],
): number {
  let weight = 0
  for (let field = 0; field < WIDTH; field++) {
    let count = counts[at + field] as number
    if (count === 0) continue
    const each = weightIn(
      WEIGHTS[field] as FieldWeight,
      lengths[from + field] as number,
      averages[field] as number,
    )
    for (; count > 0; count--) weight += each
  }
  return weight
}

/** Makes the postings of the servers in the part, as documents of their own. */
function serverLists(corpus: Corpus, { isIn, servers }: Part): TermLists['of'] {
  const tenthsBy = (term: string): Map<number, number> => {
    const { documents, counts } = corpus.frequencies.of(term)
    const tenths = new Map<number, number>()
    for (let at = 0; at < documents.length; at++) {
      const document = documents[at] as number
      if (!isIn(document)) continue
      const server = corpus.serverOf[document] as number
      const more = tenthsOf(counts, at * WIDTH, servers.first[server] === document)
      if (more > 0) tenths.set(server, (tenths.get(server) ?? 0) + more)
    }
    return tenths
  }
  return term => {
    const postings: number[] = []
    for (const [server, tenths] of tenthsBy(term)) {
      const weight = serverWeight(tenths, servers.lengths[server] as number, servers.average)
      postings.push(postingOf(server, stepOf(weight, SERVER_SATURATION)))
    }
    return Uint32Array.from(postings)
  }
}
