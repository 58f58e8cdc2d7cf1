/** Encodes the texts that only some users have: one after another, so that queries do not wait for long. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Clock, delay } from '../../core/async.ts'
import { backoffMs } from '../../core/backoff.ts'
import type { SearchText } from '../../core/catalog/search-text.ts'
import type { Vector } from '../../core/catalog/vectors.ts'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'

/** Others are found by words alone, until the lists of their user are used with another catalog. */
const MOST_WAITING = 2_000
const ANNOUNCE_EVERY_MS = 1_000
const RETRY = { firstMs: 1_000, longestMs: 30_000 }

export type OwnTextsOptions = {
  encoder: SentenceEncoder
  /** Gets the vectors. */
  vectors: Map<string, Vector>
  clock: Clock
  onVectors: () => void
  /** Aborts when the encoder is closed. */
  signal: AbortSignal
}

export class OwnTexts {
  readonly #options: OwnTextsOptions
  readonly #waiting = new Map<string, SearchText>()
  #running = false

  constructor(options: OwnTextsOptions) {
    this.#options = options
  }

  add(texts: readonly SearchText[]): void {
    for (const text of texts) if (this.#waiting.size < MOST_WAITING) this.#waiting.set(text.key, text)
    if (this.#waiting.size > 0 && !this.#running) void this.#run()
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { clock, signal, onVectors } = this.#options
    this.#running = true
    let announcedMs = clock.now()
    for (let failures = 0; this.#waiting.size > 0 && !signal.aborted; ) {
      const [text] = this.#waiting.values()
      // If the text was cached, nothing has yielded to the event loop yet.
      await nextTurn()
      if (await this.#encode(text as SearchText)) failures = 0
      else await delay(clock, backoffMs(RETRY, failures++, Math.random), signal).catch(() => {})
      if (this.#waiting.size > 0 && clock.now() - announcedMs < ANNOUNCE_EVERY_MS) continue
      announcedMs = clock.now()
      if (!signal.aborted) onVectors()
    }
    this.#running = false
  }

  /** A text that cannot be encoded goes to the end of the line. */
  async #encode(text: SearchText): Promise<boolean> {
    const { encoder, vectors, signal } = this.#options
    try {
      const [vector] = await encoder.encodeTexts([text], signal)
      if (vector) vectors.set(text.key, vector)
      this.#waiting.delete(text.key)
      return true
    } catch {
      this.#waiting.delete(text.key)
      this.#waiting.set(text.key, text)
      return false
    }
  }
}
