/** The vectors of everything that is served, for one encoder: those delivered with the lists, and those encoded here in the background. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Clock, delay, type Timer } from '../../core/async.ts'
import { backoffMs } from '../../core/backoff.ts'
import { itemSearchText, type SearchText, toolSearchText } from '../../core/catalog/search-text.ts'
import type { CatalogVectors } from '../../core/catalog/server-catalog.ts'
import { unpackVectors, type Vector } from '../../core/catalog/vectors.ts'
import { prepareDots } from '../../core/encoder/dots.ts'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'
import { ENCODER_ID } from '../../core/encoder/minilm.ts'
import { type Catalog, routeOf } from '../catalog/catalog.ts'
import { createVectorTable } from '../catalog/search/vectors.ts'
import type { PromptRoute, ResourceRoute, ServerPart, ToolRoute } from '../catalog/server-part.ts'
import { OwnTexts } from './own-texts.ts'

/** While many are encoded, the search index gets new vectors at this interval. */
const ANNOUNCE_EVERY_MS = 1_000
const RETRY = { firstMs: 1_000, longestMs: 30_000 }
const MAX_BATCH = 64
/** A batch this fast was mostly cached: the next one is twice as large. */
const QUICK_MS = 50
const ROUTES_PER_SLICE = 500
/** Vectors of removed documents are kept because these may come back; each takes some 600 bytes. */
const MAX_UNUSED = 5_000

export type DocumentVectorsOptions = {
  encoder: SentenceEncoder
  /** The known vectors of this encoder by key; new ones are added. */
  vectors: Map<string, Vector>
  /** Encodes documents without a vector here, in batches of at least this size. Absent: they come with the lists. */
  encodesAtOnce?: number
  clock: Clock
  /** Called when there are new vectors; `equip` adds them to a catalog. */
  onVectors: () => void
  /** Called when there are new vectors of texts that only some users have; see equipOwn. */
  onOwnVectors: () => void
  /** Called after each batch, with the error if it failed. */
  onEncoded: (error?: unknown) => void
}

type Tables = NonNullable<Catalog['vectors']>
type Route = ToolRoute | ResourceRoute | PromptRoute

/** Must be closed with `close`. */
export class DocumentVectors {
  readonly #options: DocumentVectorsOptions
  readonly #life = new AbortController()
  readonly #vectors: Map<string, Vector>
  readonly #makeDots = prepareDots()
  /** Vectors delivered with a list that have been copied to `#vectors`. */
  #seen = new WeakSet<CatalogVectors>()
  #catalog: Catalog | undefined
  /** Increases with every change to what the tables are made from. */
  #revision = 0
  #tables: { revision: number; tables: Tables } | undefined
  /** What is to be encoded, by server, the next one last: servers take turns, so that a large one does not delay a small one. */
  #waiting = new Map<string, Route[]>()
  #running = false
  #announcing: Timer | undefined
  readonly #own: OwnTexts

  constructor(options: DocumentVectorsOptions) {
    this.#options = options
    this.#vectors = options.vectors
    this.#own = new OwnTexts({ ...options, onVectors: options.onOwnVectors, signal: this.#life.signal })
  }

  /**
   * Returns the catalog with the vectors of its texts that are known; missing ones are encoded from now on. Yields often, so that
   * the caller can yield to the event loop. Only one run at a time.
   */
  *equip(catalog: Catalog): Generator<void, Catalog> {
    const hasNew = yield* this.#take(catalog)
    if (hasNew || catalog.parts !== this.#catalog?.parts) {
      yield* this.#forgetUnused(catalog)
      this.#waiting = yield* this.#waitingOf(catalog)
      this.#revision++
    }
    this.#catalog = catalog
    const revision = this.#revision
    if (this.#tables?.revision !== revision)
      this.#tables = { revision, tables: yield* this.#tablesOf(catalog) }
    void this.#run()
    return { ...catalog, vectors: this.#tables.tables }
  }

  /** The catalog of a user, with the vectors that are known; texts that only this user has are encoded from now on. */
  *equipOwn(catalog: Catalog): Generator<void, Catalog> {
    const shared = new Set(this.#catalog?.parts)
    for (const part of catalog.parts) {
      if (shared.has(part)) continue
      const unknown = routesOf(part).filter(({ textKey }) => !this.#vectors.has(textKey))
      this.#own.add(textsOf(catalog, part.server, this.#own.choose(unknown)))
      yield
    }
    return { ...catalog, vectors: yield* this.#tablesOf(catalog) }
  }

  close(): void {
    this.#life.abort()
    this.#announcing?.cancel()
  }

  /** Copies vectors delivered with the lists; true if there were new ones. */
  *#take({ catalogs, parts }: Catalog): Generator<void, boolean> {
    let hasNew = false
    for (const { server } of parts) {
      const vectors = catalogs.get(server)?.vectors
      if (vectors?.encoder !== this.#options.encoder.id || this.#seen.has(vectors)) continue
      this.#seen.add(vectors)
      for (const [key, vector] of unpackVectors(vectors)) this.#vectors.set(key, vector)
      hasNew = true
      yield
    }
    return hasNew
  }

  *#tablesOf({ tools, extras }: Catalog): Generator<void, Tables> {
    const ofTools = yield* this.#vectorsOf(tools)
    const ofExtras = yield* this.#vectorsOf(extras.map(routeOf))
    const isFamiliar = this.#options.encoder.id === ENCODER_ID
    return {
      tools: createVectorTable(ofTools, this.#makeDots, isFamiliar),
      extras: createVectorTable(ofExtras, this.#makeDots, isFamiliar),
    }
  }

  *#vectorsOf(routes: readonly Route[]): Generator<void, (Vector | undefined)[]> {
    const vectors: (Vector | undefined)[] = []
    for (const { textKey } of routes) {
      const vector = this.#vectors.get(textKey) ?? this.#own.get(textKey)
      if (vectors.push(vector) % ROUTES_PER_SLICE === 0) yield
    }
    return vectors
  }

  *#forgetUnused({ parts }: Catalog): Generator<void> {
    const used = new Set<string>()
    for (const part of parts) {
      for (const { textKey } of routesOf(part)) used.add(textKey)
      yield
    }
    const unused = [...this.#vectors.keys()].filter(key => !used.has(key))
    if (unused.length <= MAX_UNUSED) return
    for (const key of unused.slice(0, -MAX_UNUSED)) this.#vectors.delete(key)
    // Forgotten vectors count as new if they are delivered again.
    this.#seen = new WeakSet()
  }

  *#waitingOf({ parts }: Catalog): Generator<void, Map<string, Route[]>> {
    const waiting = new Map<string, Route[]>()
    if (this.#options.encodesAtOnce === undefined) return waiting
    for (const part of parts) {
      const unknown = routesOf(part).filter(({ textKey }) => !this.#vectors.has(textKey))
      if (unknown.length > 0) waiting.set(part.server, unknown.reverse())
      yield
    }
    return waiting
  }

  /** Encodes one batch after another until none is waiting. Never rejects. */
  async #run(): Promise<void> {
    const { encodesAtOnce = 0, clock } = this.#options
    if (this.#running) return
    this.#running = true
    const { signal } = this.#life
    let size = encodesAtOnce
    let failures = 0
    while (this.#waiting.size > 0 && !signal.aborted) {
      const begun = clock.elapsed()
      if (await this.#encodeNext(size)) {
        size = clock.elapsed() - begun < QUICK_MS ? Math.min(size * 2, MAX_BATCH) : encodesAtOnce
        failures = 0
        this.#announce()
        // If the batch was cached, nothing has yielded to the event loop yet.
        await nextTurn()
      } else {
        // One text that cannot be encoded must not block the others.
        size = 1
        await delay(clock, backoffMs(RETRY, failures++, Math.random), signal).catch(() => {})
      }
    }
    this.#running = false
  }

  /** Encodes a batch of the next server; false if it failed and has to be repeated after all others. */
  async #encodeNext(size: number): Promise<boolean> {
    const { encoder, onEncoded } = this.#options
    const { signal } = this.#life
    const [server, batch] = this.#nextBatch(size)
    const texts = textsOf(this.#catalog, server, batch)
    if (texts.length === 0) return true
    try {
      const vectors = await encoder.encodeTexts(texts, signal)
      if (signal.aborted) return false
      // By the key of the encoded text: a failed batch may belong to a manifest that has changed since.
      for (const [at, { key }] of texts.entries()) this.#vectors.set(key, vectors[at] as Vector)
      onEncoded()
      return true
    } catch (error) {
      if (signal.aborted) return false
      this.#waiting.set(server, [...batch, ...(this.#waiting.get(server) ?? [])])
      onEncoded(error)
      return false
    }
  }

  #nextBatch(size: number): [server: string, batch: Route[]] {
    const [server, routes] = this.#waiting.entries().next().value as [string, Route[]]
    this.#waiting.delete(server)
    const batch = new Map<string, Route>()
    while (batch.size < size) {
      const route = routes.pop()
      if (!route) break
      if (!this.#vectors.has(route.textKey)) batch.set(route.textKey, route)
    }
    if (routes.length > 0) this.#waiting.set(server, routes)
    return [server, [...batch.values()]]
  }

  /** Announces new vectors: at once if nothing is waiting, otherwise at the end of the interval. */
  #announce(): void {
    const tell = () => {
      this.#announcing?.cancel()
      this.#announcing = undefined
      this.#revision++
      this.#options.onVectors()
    }
    if (this.#waiting.size === 0) tell()
    else this.#announcing ??= this.#options.clock.after(ANNOUNCE_EVERY_MS, tell)
  }
}

/** The texts of these routes; none if the server has been removed. */
function textsOf(of: Catalog | undefined, name: string, routes: readonly Route[]): SearchText[] {
  const server = of?.servers.get(name)
  const catalog = of?.catalogs.get(name)
  if (!server || !catalog) return []
  return routes.map(route =>
    'tool' in route
      ? toolSearchText(server, catalog, route.definition)
      : itemSearchText(server, catalog, route.definition),
  )
}

function routesOf({ tools, resources, templates, prompts }: ServerPart): Route[] {
  return [...tools, ...resources, ...templates, ...prompts]
}
