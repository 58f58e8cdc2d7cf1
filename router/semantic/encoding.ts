/** Uses one encoder for as long as the config asks for it: opens it when it is available, encodes with it, closes it. */
import { type Clock, delay } from '../../core/async.ts'
import type { Vector } from '../../core/catalog/vectors.ts'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'
import { messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { QueryEncoder } from '../meta/meta-tool.ts'
import { DocumentVectors } from './document-vectors.ts'
import { createQueryEncoder, type Missed } from './query-encoder.ts'
import type { SemanticMetrics } from './semantic-metrics.ts'

/** The model may be downloaded, and the service may come back, at any time. */
const OPEN_AGAIN_MS = 10_000

export type EncodingOptions = {
  /**
   * Opens the encoder. Throws an error whose message is a sentence if it is not available now. `onGone` is called when it was lost or has
   * become another encoder, and must be opened again.
   */
  open: (onGone: () => void, signal: AbortSignal) => Promise<SentenceEncoder>
  /** The known vectors of an encoder, by key. */
  vectorsOf: (encoder: string) => Map<string, Vector>
  /** How long a search waits for the vector of its query. */
  queryTimeoutMs: number
  /** See DocumentVectors. */
  encodesAtOnce?: number
  log: Log
  clock: Clock
  /** Called when `equip` has something new to add. */
  onVectors: () => void
  /** As in DocumentVectorsOptions. */
  onOwnVectors: () => void
  /** Called when the result of `trouble` may have changed. */
  onTrouble: () => void
  metrics: Pick<SemanticMetrics, 'missed'>
}

type Opened = { encoder: SentenceEncoder; documents: DocumentVectors; encodeQuery: QueryEncoder }

/** Why the encoder is not open, and why documents or queries fail. */
type Problems = { open?: string; documents?: string; queries?: string }

/** Must be closed with `close`. */
export class Encoding {
  readonly #options: EncodingOptions
  readonly #life = new AbortController()
  #opened: Opened | undefined
  #opening: Promise<void>
  #closing: Promise<unknown> = Promise.resolve()
  #problems: Problems = {}
  /** Whether the last search had no vector. */
  #missing = false

  constructor(options: EncodingOptions) {
    this.#options = options
    this.#opening = this.#open()
  }

  isOpen(): boolean {
    return this.#opened !== undefined
  }

  /** The current problem as a sentence; undefined if there is none. */
  trouble(): string | undefined {
    const { open, queries, documents } = this.#problems
    return open ?? queries ?? documents
  }

  /** The catalog with its vectors that are known; see DocumentVectors. */
  *equip(catalog: Catalog): Generator<void, Catalog> {
    return this.#opened ? yield* this.#opened.documents.equip(catalog) : { ...catalog, vectors: undefined }
  }

  /** The catalog of a user; see DocumentVectors. */
  *equipOwn(catalog: Catalog): Generator<void, Catalog> {
    return this.#opened ? yield* this.#opened.documents.equipOwn(catalog) : { ...catalog, vectors: undefined }
  }

  encodeQuery(text: string, signal: AbortSignal): Promise<Vector | undefined> {
    return this.#opened ? this.#opened.encodeQuery(text, signal) : Promise.resolve(undefined)
  }

  async close(): Promise<void> {
    this.#life.abort()
    this.#drop()
    await this.#opening
    await this.#closing
  }

  /** Tries until the encoder is open. Never rejects. */
  async #open(): Promise<void> {
    const { signal } = this.#life
    while (!signal.aborted) {
      try {
        const encoder = await this.#options.open(() => this.#reopen(encoder), signal)
        this.#opened = this.#use(encoder)
        if (signal.aborted) return this.#drop()
        this.#problems = {}
        this.#options.onTrouble()
        return this.#options.onVectors()
      } catch (error) {
        this.#trouble('open', error)
      }
      await this.#pause()
    }
  }

  /** Reopens after a pause, so that an encoder which keeps changing is not followed each time. */
  #reopen(encoder: SentenceEncoder): void {
    if (this.#opened?.encoder !== encoder) return
    this.#drop()
    this.#options.onVectors()
    this.#opening = this.#pause().then(() => this.#open())
  }

  #pause(): Promise<void> {
    return delay(this.#options.clock, OPEN_AGAIN_MS, this.#life.signal).catch(() => {})
  }

  #use(encoder: SentenceEncoder): Opened {
    const { vectorsOf, queryTimeoutMs: timeoutMs, encodesAtOnce, clock } = this.#options
    const documents = new DocumentVectors({
      encoder,
      vectors: vectorsOf(encoder.id),
      encodesAtOnce,
      clock,
      onVectors: this.#options.onVectors,
      onOwnVectors: this.#options.onOwnVectors,
      onEncoded: error => this.#trouble('documents', error),
    })
    const encodeQuery = createQueryEncoder({
      encoder,
      timeoutMs,
      clock,
      onEncoded: error => this.#trouble('queries', error),
      onAnswered: missed => this.#answered(missed),
    })
    return { encoder, documents, encodeQuery }
  }

  /** Closes the encoder if it is open. */
  #drop(): void {
    const last = this.#opened
    this.#opened = undefined
    this.#problems = {}
    if (!last) return
    last.documents.close()
    this.#closing = Promise.allSettled([this.#closing, last.encoder.close()])
  }

  /** Sets a problem, or clears it if there is no error. */
  #trouble(what: keyof Problems, error?: unknown): void {
    const sentence = error === undefined ? undefined : messageOf(error)
    if (this.#problems[what] === sentence || this.#life.signal.aborted) return
    this.#problems[what] = sentence
    this.#options.onTrouble()
  }

  /** Logs only the first of several misses in a row. */
  #answered(missed: Missed | undefined): void {
    if (missed) this.#options.metrics.missed(missed)
    if (missed && !this.#missing)
      this.#options.log.warn({ why: missed }, 'no vector for a query in time; searching by words alone')
    this.#missing = missed !== undefined
  }
}
