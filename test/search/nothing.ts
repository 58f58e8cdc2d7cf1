/** Queries that something serves and queries that nothing serves, in catalogs of several sizes: what the confidence is learned from and measured on. */
import { createHash } from 'node:crypto'
import type { Vector } from '../../core/catalog/vectors.ts'
import { prepareDots } from '../../core/encoder/dots.ts'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'
import type { LexicalIndex } from '../../router/catalog/search/build.ts'
import { productTermsOf } from '../../router/catalog/search/product-names.ts'
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
/** What is asked, and the families of servers, assigned by hand: those of one family may serve the same requests. */
export type Judged = {
  queries: readonly JudgedQuery[]
  /** `others`: families of servers that may serve it. */
  requests: readonly { server: string; query: string; others: readonly string[] }[]
  families: Readonly<Record<string, readonly string[]>>
}

/**
 * What is asked of catalogs of about `size` tools out of `documents`: whole servers, the same ones on every run. Whether something serves a
 * query is known without the search: its own server does. Nothing does if the query names a server that is not there while no other
 * one of this name is, or if there is no server of the families that might serve it.
 */
export function trialsOf(documents: readonly SearchDocument[], judged: Judged, size: number): Trials[] {
  const groups = Map.groupBy(judged.queries, serversOf)
  return [...groups].flatMap(([key, queries]) => {
    const servers = key.split(' ')
    const [server = ''] = servers
    const partWith = partOf(documents, servers, size)
    const families = servers.flatMap(name => judged.families[name] ?? [])
    const rivals = (more: readonly string[]) => rivalsOf(judged.families, servers, [...families, ...more])
    const without = partWith(false, new Set())
    const namesProduct = productReader(documents, servers, without)
    const trial = (kind: Kind, { query, style = kind }: { query: string; style?: string }): Trial => ({
      query,
      kind,
      style,
      server,
    })
    const named = queries.filter(({ query }) => namesProduct(query))
    const others = queries.filter(({ query }) => !namesProduct(query))
    const ofRequest = ({ query, others }: Judged['requests'][number]): Trials => ({
      members: partWith(true, rivals(others)),
      trials: [trial('request', { query })],
    })
    return [
      { members: partWith(true, new Set()), trials: queries.map(query => trial('served', query)) },
      { members: without, trials: named.map(query => trial('named', query)) },
      { members: partWith(false, rivals([])), trials: others.map(query => trial('absent', query)) },
      ...judged.requests.filter(request => request.server === server).map(ofRequest),
    ]
  })
}

function serversOf({ relevant }: JudgedQuery): string {
  return [...new Set(relevant.map(({ server }) => server))].sort().join(' ')
}

/** The other servers of these families. */
function rivalsOf(
  families: Judged['families'],
  servers: readonly string[],
  wanted: readonly string[],
): Set<string> {
  const named = Object.entries(families).filter(([, own]) => own.some(family => wanted.includes(family)))
  return new Set(named.map(([name]) => name).filter(name => !servers.includes(name)))
}

/** Whether a query names one of the servers, by a word that no server of the members has in its name. */
function productReader(
  documents: readonly SearchDocument[],
  servers: readonly string[],
  members: Int32Array,
): (query: string) => boolean {
  const named = (all: readonly (SearchDocument | undefined)[]) =>
    new Set(all.flatMap(document => (document ? productTermsOf(document) : [])))
  const own = named(documents.filter(({ server }) => servers.includes(server)))
  const others = named(Array.from(members, at => documents[at]))
  return query => wordsOf(query).some(({ term }) => own.has(term) && !others.has(term))
}

/** Servers in an order that depends on `servers`, until there are enough tools; with these or without, and never with those `excluded`. */
function partOf(documents: readonly SearchDocument[], servers: readonly string[], size: number) {
  const byServer = Map.groupBy(documents.keys(), at => documents[at]?.server ?? '')
  const order = (name: string) => createHash('sha256').update(`${name} ${servers}`).digest('hex')
  const others = [...byServer.keys()].filter(name => !servers.includes(name))
  const sorted = others.sort((a, b) => (order(a) < order(b) ? -1 : 1))
  return (has: boolean, excluded: ReadonlySet<string>): Int32Array => {
    const members: number[] = []
    for (const name of [...(has ? servers : []), ...sorted.filter(name => !excluded.has(name))]) {
      if (members.length >= size && !servers.includes(name)) break
      members.push(...(byServer.get(name) ?? []))
    }
    return Int32Array.from(members.sort((a, b) => a - b))
  }
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
