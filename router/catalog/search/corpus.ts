/** The indexed documents with all statistics that the ranking needs, built step by step from their texts. Pure. */
import { FIELDS, type Field, readTool, type ToolTerms } from './fields.ts'
import { buildFrequencies, type Frequencies } from './frequencies.ts'
import type { Lexicon } from './lexicon.ts'
import { buildNameCoverage, type NameCoverage } from './name-coverage.ts'
import { createNames, type Names } from './names.ts'
import { createPostings, inverseFrequency, type Postings, type TermLists } from './postings.ts'
import type { SearchDocument } from './search-index.ts'
import { createSpelling, createVocabulary, type Spelling, type Vocabulary } from './spelling.ts'
import { createTermReader } from './text.ts'

export type Corpus = {
  /** By id. A part has all documents of the whole, but finds only some of them. */
  documents: readonly SearchDocument[]
  /** How many documents can be found. */
  size: number
  /** The terms of every document, kept for the next build. */
  fields: readonly ToolTerms[]
  tools: TermLists
  servers: TermLists
  frequencies: Frequencies
  /** By document: the number of its server, which is the server's id in `servers`. */
  serverOf: Int32Array
  /** How many servers have documents that can be found. */
  serverCount: number
  /** Bits of the classes of actions of every tool. */
  actions: Int32Array
  names: Names
  nameCoverage: NameCoverage
  vocabulary: Vocabulary
  spelling: Spelling
}

/** Weight of a field, and how much its length counts against it (BM25F). */
export type FieldWeight = { weight: number; length: number }

export const FIELD_WEIGHTS: Readonly<Record<Field, FieldWeight>> = {
  name: { weight: 3, length: 0.8 },
  server: { weight: 2.5, length: 0.5 },
  description: { weight: 1, length: 0.5 },
  parameters: { weight: 0.8, length: 0.5 },
  parameterTexts: { weight: 0.4, length: 0.5 },
  serverDescription: { weight: 0.2, length: 0.5 },
}
/** Weights of the fields of a server, in tenths, so that sums of them are exact in any order. */
export const SERVER_TENTHS = { server: 30, serverDescription: 10, name: 10, description: 3 }
export const TOOL_SATURATION = 1.6
export const SERVER_SATURATION = 1.2
const SERVER_LENGTH = 0.75

/** Yields after every document of every pass, so that the caller can run other tasks in between. */
export function* buildCorpus(
  documents: readonly SearchDocument[],
  lexicon: Lexicon,
  reuse: (document: SearchDocument) => ToolTerms | undefined,
): Generator<void, Corpus> {
  const reader = createTermReader()
  const fields: ToolTerms[] = []
  const names = createNames()
  const actions = new Int32Array(documents.length)
  for (const [at, document] of documents.entries()) {
    const terms = reuse(document) ?? readTool(document, reader, lexicon)
    fields.push(terms)
    actions[at] = terms.actions
    names.add(at, document)
    yield
  }
  const tools = yield* toolPostings(fields)
  const frequencies = yield* buildFrequencies(fields, tools)
  const servers = yield* serverPostings(documents, fields)
  const nameCoverage = yield* buildNameCoverage(
    fields.map(terms => terms.ownName),
    term => inverseFrequency(tools.count(term), documents.length),
  )
  const vocabulary = createVocabulary(new Set([...tools.terms(), ...lexicon.words()]))
  const spelling = createSpelling(vocabulary, tools.count)
  const size = documents.length
  return {
    documents,
    size,
    fields,
    tools,
    frequencies,
    names,
    nameCoverage,
    actions,
    vocabulary,
    spelling,
    ...servers,
  }
}

function* toolPostings(fields: readonly ToolTerms[]): Generator<void, Postings> {
  const postings = createPostings(TOOL_SATURATION)
  const averages = averageLengths(fields)
  for (const [at, terms] of fields.entries()) {
    const weights = new Map<string, number>()
    for (const field of FIELDS) {
      const each = weightIn(FIELD_WEIGHTS[field], terms[field].length, averages[field])
      for (const term of terms[field]) weights.set(term, (weights.get(term) ?? 0) + each)
    }
    postings.add(at, weights)
    yield
  }
  return yield* postings.build()
}

/** The weight of one occurrence of a term in a field of this length. */
export function weightIn({ weight, length }: FieldWeight, terms: number, average: number): number {
  return weight / (1 - length + (length * terms) / average)
}

function averageLengths(fields: readonly ToolTerms[]): Record<Field, number> {
  const average = (field: Field) =>
    fields.reduce((sum, terms) => sum + terms[field].length, 0) / fields.length || 1
  return Object.fromEntries(FIELDS.map(field => [field, average(field)])) as Record<Field, number>
}

type ServerPart = Pick<Corpus, 'servers' | 'serverOf' | 'serverCount'>

/** Each server as one document: its own words and those of all its tools. */
function* serverPostings(
  documents: readonly SearchDocument[],
  fields: readonly ToolTerms[],
): Generator<void, ServerPart> {
  const numbers = new Map<string, number>()
  const weights: Map<string, number>[] = []
  const serverOf = new Int32Array(documents.length)
  for (const [at, document] of documents.entries()) {
    const terms = fields[at] as ToolTerms
    const number = numbers.get(document.server) ?? numbers.size
    serverOf[at] = number
    let ofServer = weights[number]
    if (ofServer === undefined) {
      numbers.set(document.server, number)
      ofServer = new Map()
      weights.push(ofServer)
      addAll(ofServer, terms.server, SERVER_TENTHS.server)
      addAll(ofServer, terms.serverDescription, SERVER_TENTHS.serverDescription)
    }
    addAll(ofServer, terms.name, SERVER_TENTHS.name)
    addAll(ofServer, terms.description, SERVER_TENTHS.description)
    yield
  }
  const servers = createPostings(SERVER_SATURATION)
  const lengths = weights.map(ofServer => ofServer.values().reduce((sum, weight) => sum + weight, 0))
  const average = lengths.reduce((sum, length) => sum + length, 0) / lengths.length || 1
  for (const [number, ofServer] of weights.entries()) {
    const weighed = (tenths: number) => serverWeight(tenths, lengths[number] ?? 0, average)
    servers.add(number, new Map(ofServer.entries().map(([term, tenths]) => [term, weighed(tenths)])))
    yield
  }
  return { servers: yield* servers.build(), serverOf, serverCount: weights.length }
}

/** The weight of a term for a server. `tenths`: of its occurrences; `length`: of the occurrences of all terms. */
export function serverWeight(tenths: number, length: number, average: number): number {
  return tenths / 10 / (1 - SERVER_LENGTH + (SERVER_LENGTH * length) / average)
}

function addAll(weights: Map<string, number>, terms: readonly string[], weight: number): void {
  for (const term of terms) weights.set(term, (weights.get(term) ?? 0) + weight)
}
