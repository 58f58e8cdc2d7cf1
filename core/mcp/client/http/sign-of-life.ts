/** Detects that an upstream died while nobody called it: after 30 s of silence it is pinged. */
import type { Clock, Timer } from '../../../async.ts'
import { Fault } from '../../../errors.ts'
import { upstreamDeadline } from '../../upstream-deadline.ts'

/** With 10 % jitter, so that many upstreams are not pinged at once. */
const EVERY_MS = 30_000
const ANSWER_WITHIN_MS = 10_000

export type SignOfLifeOptions = {
  clock: Clock
  /** 0 to 1. */
  random: () => number
  /** Sends a ping (`lightest`), or a request that every server answers, for servers that ignore pings. */
  ask: (lightest: boolean, signal: AbortSignal) => Promise<unknown>
  /** Whether calls are in flight: then a single-threaded server may not answer in time. */
  isBusy: () => boolean
  /** The upstream is down; it is not pinged again before the next `up`. */
  onDown: (fault: Fault) => void
}

export class SignOfLife {
  readonly #options: SignOfLifeOptions
  readonly #life = new AbortController()
  #ignoresPing = false
  #heardAt = 0
  #timer: Timer | undefined

  constructor(options: SignOfLifeOptions) {
    this.#options = options
  }

  /** The upstream is reachable: starts to watch it. */
  up(): void {
    this.heard()
    if (!this.#timer && !this.#life.signal.aborted) this.#wait(this.#everyMs())
  }

  /** The upstream answered. */
  heard(): void {
    this.#heardAt = this.#options.clock.elapsed()
  }

  /** The upstream is known to be down: stops to watch it. */
  down(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  close(): void {
    this.down()
    this.#life.abort()
  }

  #everyMs(): number {
    return EVERY_MS * (0.9 + this.#options.random() / 5)
  }

  #wait(everyMs: number): void {
    const { clock } = this.#options
    const timer = clock.after(
      this.#heardAt + everyMs - clock.elapsed(),
      () => void this.#check(timer, everyMs),
    )
    this.#timer = timer
  }

  async #check(timer: Timer, everyMs: number): Promise<void> {
    const { clock, isBusy, onDown } = this.#options
    if (clock.elapsed() < this.#heardAt + everyMs) return this.#wait(everyMs)
    let fault = await this.#probe(!this.#ignoresPing)
    if (fault?.code === 'upstream_timeout' && !this.#ignoresPing) {
      fault = await this.#probe(false)
      this.#ignoresPing = fault === undefined
    }
    // `down`, `up` or `close` was called meanwhile.
    if (this.#timer !== timer) return
    if (fault && !(fault.code === 'upstream_timeout' && isBusy())) {
      this.down()
      onDown(fault)
    } else {
      this.heard()
      this.#wait(this.#everyMs())
    }
  }

  /** Undefined if it answered, even with an error. */
  async #probe(lightest: boolean): Promise<Fault | undefined> {
    const { clock, ask } = this.#options
    const message = `The upstream gave no sign of life within ${ANSWER_WITHIN_MS / 1_000} s`
    const limit = upstreamDeadline(clock, ANSWER_WITHIN_MS, message, this.#life.signal)
    try {
      await ask(lightest, limit.signal)
      return undefined
    } catch (error) {
      return error instanceof Fault && meansDown(error) ? error : undefined
    } finally {
      limit.clear()
    }
  }
}

/** A server that answers with status 500 is up. */
function meansDown({ code, details: { status } }: Fault): boolean {
  if (code === 'upstream_unreachable') return status !== 500
  return code === 'upstream_died' || code === 'upstream_timeout'
}
