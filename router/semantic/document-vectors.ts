/** The vectors of all that is served, of one encoder: those that came with the lists, and those that are made here, in the background. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Clock, delay, type Timer } from '../../core/async.ts'
import { backoffMs } from '../../core/backoff.ts'
import { itemSearchText, type SearchText, toolSearchText } from '../../core/catalog/search-text.ts'
import type { CatalogVectors } from '../../core/catalog/server-catalog.ts'
import { unpackVectors, type Vector } from '../../core/catalog/vectors.ts'
import { prepareDots } from '../../core/encoder/dots.ts'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'
import { type Catalog, routeOf } from '../catalog/catalog.ts'
import { createVectorTable } from '../catalog/search/vectors.ts'
import type { PromptRoute, ResourceRoute, ServerPart, ToolRoute } from '../catalog/server-part.ts'

/** While many are made, the search gets them this often. */
const ANNOUNCE_EVERY_MS = 1_000
const RETRY = { firstMs: 1_000, longestMs: 30_000 }
const MAX_BATCH = 64
/** A batch that took no longer was mostly there already: the next one is twice as large. */
const QUICK_MS = 50
const ROUTES_A_SLICE = 500
/** Vectors of what is gone are kept, for it may come back; each is some 600 bytes. */
const MAX_UNUSED = 5_000

export type DocumentVectorsOptions = {
  encoder: SentenceEncoder
  /** By key, those of this encoder that are known already; what is made is added. */
  vectors: Map<string, Vector>
  /** Whether what has no vector is encoded here, that many at a time at least; absent: whoever discovers does. */
  encodesAtOnce?: number
  clock: Clock
  /** There are new vectors: `equip` gives them. */
  onVectors: () => void
  /** A batch was encoded, or why it was not. */
  onEncoded: (error?: unknown) => void
}

type Tables = NonNullable<Catalog['vectors']>
type Route = ToolRoute | ResourceRoute | PromptRoute

/** Ends with `close`. */
export class DocumentVectors {
  readonly #options: DocumentVectorsOptions
  readonly #life = new AbortController()
  readonly #vectors: Map<string, Vector>
  readonly #makeDots = prepareDots()
  /** Came with a list, and is in `#vectors`. */
  #taken = new WeakSet<CatalogVectors>()
  #catalog: Catalog | undefined
  /** Grows with whatever the tables are made of. */
  #revision = 0
  #tables: { revision: number; tables: Tables } | undefined
  /** What is to be encoded, by server, the next at the end: in turn, so that a large one does not keep a small one waiting. */
  #waiting = new Map<string, Route[]>()
  #running = false
  #announcing: Timer | undefined

  constructor(options: DocumentVectorsOptions) {
    this.#options = options
    this.#vectors = options.vectors
  }

  /**
   * The catalog with the vectors of its texts, as far as they are known; what is missing is made from now on. Yields often, so
   * that its driver can give way; one is driven at a time.
   */
  *equip(catalog: Catalog): Generator<void, Catalog> {
    const brought = yield* this.#take(catalog)
    if (brought || catalog.parts !== this.#catalog?.parts) {
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

  close(): void {
    this.#life.abort()
    this.#announcing?.cancel()
  }

  /** Vectors that travelled with the lists; true where there were new ones. */
  *#take({ catalogs, parts }: Catalog): Generator<void, boolean> {
    let brought = false
    for (const { server } of parts) {
      const vectors = catalogs.get(server)?.vectors
      if (vectors?.encoder !== this.#options.encoder.id || this.#taken.has(vectors)) continue
      this.#taken.add(vectors)
      for (const [key, vector] of unpackVectors(vectors)) this.#vectors.set(key, vector)
      brought = true
      yield
    }
    return brought
  }

  *#tablesOf({ tools, extras }: Catalog): Generator<void, Tables> {
    const ofTools = yield* this.#vectorsOf(tools)
    const ofExtras = yield* this.#vectorsOf(extras.map(routeOf))
    return {
      tools: createVectorTable(ofTools, this.#makeDots),
      extras: createVectorTable(ofExtras, this.#makeDots),
    }
  }

  *#vectorsOf(routes: readonly Route[]): Generator<void, (Vector | undefined)[]> {
    const vectors: (Vector | undefined)[] = []
    for (const { textKey } of routes)
      if (vectors.push(this.#vectors.get(textKey)) % ROUTES_A_SLICE === 0) yield
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
    // What is forgotten counts as new where it comes again.
    this.#taken = new WeakSet()
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

  /** One batch after another until nothing waits. Never rejects. */
  async #run(): Promise<void> {
    const { encodesAtOnce = 0, clock } = this.#options
    if (this.#running) return
    this.#running = true
    const { signal } = this.#life
    let size = encodesAtOnce
    let failures = 0
    while (this.#waiting.size > 0 && !signal.aborted) {
      const begun = clock.now()
      if (await this.#encodeNext(size)) {
        size = clock.now() - begun < QUICK_MS ? Math.min(size * 2, MAX_BATCH) : encodesAtOnce
        failures = 0
        this.#announce()
        // What was there already takes no turn of the event loop.
        await nextTurn()
      } else {
        // One that cannot be encoded shall not stand in the way of the others.
        size = 1
        await delay(clock, backoffMs(RETRY, failures++, Math.random), signal).catch(() => {})
      }
    }
    this.#running = false
  }

  /** A batch of the server whose turn it is; false where it failed and is to be done again, after all others. */
  async #encodeNext(size: number): Promise<boolean> {
    const { encoder, onEncoded } = this.#options
    const { signal } = this.#life
    const [server, batch] = this.#nextBatch(size)
    const texts = this.#textsOf(server, batch)
    if (texts.length === 0) return true
    try {
      const vectors = await encoder.encodeTexts(texts, signal)
      if (signal.aborted) return false
      // By the key of what was encoded: a batch that failed may be of a manifest that has changed since.
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

  /** None of a server that is gone. */
  #textsOf(name: string, routes: readonly Route[]): SearchText[] {
    const server = this.#catalog?.servers.get(name)
    const catalog = this.#catalog?.catalogs.get(name)
    if (!server || !catalog) return []
    const textOf = (route: Route) =>
      'tool' in route
        ? toolSearchText(server, catalog, route.definition)
        : itemSearchText(server, catalog, route.definition)
    return routes.map(textOf)
  }

  /** At once where these were the last, else at the end of the pause. */
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

function routesOf({ tools, resources, templates, prompts }: ServerPart): Route[] {
  return [...tools, ...resources, ...templates, ...prompts]
}
