/** Texts that only some users have: encoded one after another, so that queries do not wait for long, and their vectors. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Clock, delay } from '../../core/async.ts'
import { backoffMs } from '../../core/backoff.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import type { SearchText } from '../../core/catalog/search-text.ts'
import type { Vector } from '../../core/catalog/vectors.ts'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'

/** As many as the catalogs of users have room for; each takes some 600 bytes. */
const ROOM = 25_000
/** Limit of the texts that wait. Others are found by words alone, until the catalog of their user is built again. */
const MAX_WAITING = 2_000
/** One user must not take all of these places. */
const MAX_WAITING_PER_LIST = 200
const ANNOUNCE_EVERY_MS = 1_000
const RETRY = { firstMs: 1_000, longestMs: 30_000 }
const FAILURES_TO_GIVE_UP = 3
/** A text that was given up is accepted again after this time. */
const GIVEN_UP_MS = 600_000
const MAX_FAILED = 2_000
/** If this can be encoded and a text cannot, it is due to the text. */
const PROBE = 'portolan'

export type OwnTextsOptions = {
  encoder: Pick<SentenceEncoder, 'encodeQuery' | 'encodeTexts'>
  clock: Clock
  onVectors: () => void
  /** Aborts when the encoder is closed. */
  signal: AbortSignal
  /** For tests. */
  room?: number
}

export class OwnTexts {
  readonly #options: OwnTextsOptions
  readonly #vectors: BoundedMap<Vector>
  readonly #waiting = new Map<string, SearchText>()
  /** Texts that could not be encoded while the encoder worked. */
  readonly #failed = new BoundedMap<{ times: number; lastMs: number }>(MAX_FAILED)
  #running = false

  constructor(options: OwnTextsOptions) {
    this.#options = options
    this.#vectors = new BoundedMap(options.room ?? ROOM)
  }

  /** Looks up a vector, and keeps it: the vectors that were looked up longest ago are the first to be removed. */
  get(key: string): Vector | undefined {
    const vector = this.#vectors.get(key)
    if (vector) this.#vectors.set(key, vector)
    return vector
  }

  /** The routes of a list whose texts should be added now. The others follow when the catalog is built again with the new vectors. */
  choose<R extends { textKey: string }>(routes: readonly R[]): R[] {
    return routes
      .filter(({ textKey }) => !this.#vectors.has(textKey) && !this.#hasGivenUp(textKey))
      .slice(0, MAX_WAITING_PER_LIST)
  }

  /** Encodes these texts in the background; ignores those for which there is no room. */
  add(texts: readonly SearchText[]): void {
    for (const text of texts) if (this.#waiting.size < MAX_WAITING) this.#waiting.set(text.key, text)
    if (this.#waiting.size > 0 && !this.#running) void this.#run()
  }

  /** Encodes until no text waits. Never rejects. */
  async #run(): Promise<void> {
    const { clock, signal, onVectors } = this.#options
    this.#running = true
    let announcedMs = clock.elapsed()
    let hasNews = false
    for (let failures = 0; this.#waiting.size > 0 && !signal.aborted; ) {
      // If the text was cached, nothing has yielded to the event loop yet.
      await nextTurn()
      const outcome = await this.#encodeNext()
      if (signal.aborted) break
      if (outcome === 'encoded') hasNews = true
      const isPause = this.#waiting.size === 0 || outcome === 'down'
      if (hasNews && (isPause || clock.elapsed() - announcedMs >= ANNOUNCE_EVERY_MS)) {
        announcedMs = clock.elapsed()
        hasNews = false
        onVectors()
      }
      failures = outcome === 'down' ? failures + 1 : 0
      if (outcome !== 'encoded')
        await delay(clock, backoffMs(RETRY, Math.max(0, failures - 1), Math.random), signal).catch(() => {})
    }
    this.#running = false
  }

  /** A text that failed goes to the end of the line, until it is given up. While the encoder is down, no text is to blame. */
  async #encodeNext(): Promise<'encoded' | 'failed' | 'down'> {
    const { encoder, clock, signal } = this.#options
    const text = this.#waiting.values().next().value as SearchText
    try {
      const [vector] = await encoder.encodeTexts([text], signal)
      this.#vectors.set(text.key, vector as Vector)
      this.#failed.delete(text.key)
      this.#waiting.delete(text.key)
      return 'encoded'
    } catch {
      const isDown = !(await this.#works())
      this.#waiting.delete(text.key)
      const times = (this.#failed.get(text.key)?.times ?? 0) + 1
      if (!isDown) this.#failed.set(text.key, { times, lastMs: clock.elapsed() })
      if (isDown || times < FAILURES_TO_GIVE_UP) this.#waiting.set(text.key, text)
      return isDown ? 'down' : 'failed'
    }
  }

  async #works(): Promise<boolean> {
    const { encoder, signal } = this.#options
    if (signal.aborted) return false
    return encoder.encodeQuery(PROBE, signal).then(
      () => true,
      () => false,
    )
  }

  #hasGivenUp(key: string): boolean {
    const failed = this.#failed.get(key)
    return (
      failed !== undefined &&
      failed.times >= FAILURES_TO_GIVE_UP &&
      this.#options.clock.elapsed() - failed.lastMs < GIVEN_UP_MS
    )
  }
}
