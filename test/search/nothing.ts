/** Queries that something serves and queries that nothing serves, in catalogs of several sizes: what the confidence is learned from and measured on. */
import { createHash } from 'node:crypto'
import type { Vector } from '../../core/catalog/vectors.ts'
import { prepareDots } from '../../core/encoder/dots.ts'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'
import type { LexicalIndex } from '../../router/catalog/search/build.ts'
import { isRare } from '../../router/catalog/search/rare-words.ts'
import type { SearchDocument, SearchIndex, SearchOptions } from '../../router/catalog/search/search-index.ts'
import { wordsOf } from '../../router/catalog/search/text.ts'
import { createVectorTable } from '../../router/catalog/search/vectors.ts'
import type { JudgedQuery } from './catalogs.ts'
import { textOf } from './meaning.ts'

/**
 * Of what nothing serves, `named` names a product that is not there, `absent` is for a kind of thing that no server does, and `request` is
 * made up so that no tool of its server, which is there, serves it.
 */
export type Kind = 'served' | 'named' | 'absent' | 'request'
export type Trial = { query: string; kind: Kind; style: string; server: string }
/** Queries that are asked of the same part of a catalog. */
export type Trials = { members: Int32Array; trials: Trial[] }
/** What is asked, and the families of servers, told by hand: those of one family may serve the same requests. */
export type Judged = {
  queries: readonly JudgedQuery[]
  /** `others`: families of servers that may serve it. */
  requests: readonly { server: string; query: string; others: readonly string[] }[]
  families: Readonly<Record<string, readonly string[]>>
}

/**
 * What is asked of catalogs of about `size` tools out of `documents`: whole servers, the same ones on every run. A query whose server is
 * not in the catalog counts as served by nothing only if it names this server and no other one of this name is there, or if no server
 * of its families is; else another one may serve it, and it is not asked.
 */
export function trialsOf(documents: readonly SearchDocument[], judged: Judged, size: number): Trials[] {
  const groups = Map.groupBy(judged.queries, serversOf)
  return [...groups].flatMap(([key, queries]) => {
    const servers = key.split(' ')
    const [server = ''] = servers
    const asked = queries.map(({ query, style = '' }) => ({ query, style, server }))
    const own = judged.requests.filter(request => request.server === server)
    const [without, with_] = [false, true].map(has => partOf(documents, servers, size, has)) as [
      Int32Array,
      Int32Array,
    ]
    const namesProduct = productReader(documents, servers, without)
    const isServed = (members: Int32Array, more: readonly string[]) =>
      isThere(
        documents,
        members,
        servers,
        [...servers.flatMap(name => judged.families[name] ?? []), ...more],
        judged.families,
      )
    const isAbsent = !isServed(without, [])
    return [
      {
        members: with_,
        trials: [
          ...asked.map((one): Trial => ({ ...one, kind: 'served' })),
          ...own
            .filter(({ others }) => !isServed(with_, others))
            .map(({ query }): Trial => ({ query, server, kind: 'request', style: 'request' })),
        ],
      },
      {
        members: without,
        trials: asked.flatMap((one): Trial[] => {
          if (namesProduct(one.query)) return [{ ...one, kind: 'named' }]
          return isAbsent ? [{ ...one, kind: 'absent' }] : []
        }),
      },
    ]
  })
}

function serversOf({ relevant }: JudgedQuery): string {
  return [...new Set(relevant.map(({ server }) => server))].sort().join(' ')
}

/** Whether another server of one of the families is among the members. */
function isThere(
  documents: readonly SearchDocument[],
  members: Int32Array,
  servers: readonly string[],
  wanted: readonly string[],
  families: Judged['families'],
): boolean {
  const names = new Set(Array.from(members, at => documents[at]?.server ?? ''))
  return [...names].some(name => !servers.includes(name) && families[name]?.some(one => wanted.includes(one)))
}

/** Whether a query names one of the servers, by a word that no server of the members has in its name. */
function productReader(
  documents: readonly SearchDocument[],
  servers: readonly string[],
  members: Int32Array,
): (query: string) => boolean {
  const named = (all: readonly (SearchDocument | undefined)[]) =>
    new Set(all.flatMap(document => (document ? nameWords(document) : [])))
  const own = named(documents.filter(({ server }) => servers.includes(server)))
  const others = named(Array.from(members, at => documents[at]))
  return query => wordsOf(query).some(({ term }) => own.has(term) && !others.has(term))
}

function nameWords({ server, serverTitle = '' }: SearchDocument): string[] {
  return wordsOf(`${server} ${serverTitle}`)
    .map(({ term }) => term)
    .filter(isRare)
}

/** Servers in an order that depends on `servers`, until there are enough tools; with these or without. */
function partOf(
  documents: readonly SearchDocument[],
  servers: readonly string[],
  size: number,
  has: boolean,
): Int32Array {
  const byServer = Map.groupBy(documents.keys(), at => documents[at]?.server ?? '')
  const order = (name: string) => createHash('sha256').update(`${name} ${servers}`).digest('hex')
  const others = [...byServer.keys()].filter(name => !servers.includes(name))
  const sorted = others.sort((a, b) => (order(a) < order(b) ? -1 : 1))
  const members: number[] = []
  for (const name of has ? [...servers, ...sorted] : sorted) {
    if (members.length >= size && !servers.includes(name)) break
    members.push(...(byServer.get(name) ?? []))
  }
  return Int32Array.from(members.sort((a, b) => a - b))
}

/** Asks every trial of its part of the catalog; by words alone without an encoder. */
export async function ask<T>(
  index: LexicalIndex,
  trials: readonly Trials[],
  encoder: SentenceEncoder | undefined,
  signal: AbortSignal,
  answer: (part: SearchIndex, trial: Trial, meaning: SearchOptions['meaning']) => T,
): Promise<{ trial: Trial; answer: T }[]> {
  const documents = await encoder?.encodeTexts(index.documents.map(textOf), signal)
  const vectors = new Map<string, Vector>()
  for (const { query } of trials.flatMap(({ trials }) => trials))
    if (encoder && !vectors.has(query))
      vectors.set(query, await encoder.encodeQuery(index.queryText(query), signal))
  return trials.flatMap(({ members, trials }) => {
    const part = index.under(members)
    const own = documents && Array.from(members, member => documents[member])
    const table = own && createVectorTable(own, prepareDots())
    return trials.map(trial => {
      const query = vectors.get(trial.query)
      const meaning = query && table ? { query, documents: table } : undefined
      return { trial, answer: answer(part, trial, meaning) }
    })
  })
}
