/** Notices that an upstream died while nobody called it: after a silence it is asked for any answer at all. */
import type { Clock, Timer } from '../../../async.ts'
import { Fault } from '../../../errors.ts'
import { upstreamDeadline } from '../../upstream-deadline.ts'

/** Shortened or lengthened by a tenth, so that many upstreams are not asked at once. */
const EVERY_MS = 30_000
const ANSWER_WITHIN_MS = 10_000

export type SignOfLifeOptions = {
  clock: Clock
  /** 0 to 1. */
  random: () => number
  /** Sends a request: the lightest, or one that every server answers, for those that ignore a ping. */
  ask: (lightest: boolean, signal: AbortSignal) => Promise<unknown>
  /** Whether calls are under way: then a server that does one thing at a time may be silent. */
  isBusy: () => boolean
  /** It is not there; it is not asked again before the next `up`. */
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

  /** The upstream was reached: from now on its silence is noticed. */
  up(): void {
    this.heard()
    if (!this.#timer && !this.#life.signal.aborted) this.#wait(this.#everyMs())
  }

  /** It answered something. */
  heard(): void {
    this.#heardAt = this.#options.clock.now()
  }

  /** It is known to be away. */
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
    const timer = clock.after(this.#heardAt + everyMs - clock.now(), () => void this.#look(timer, everyMs))
    this.#timer = timer
  }

  async #look(timer: Timer, everyMs: number): Promise<void> {
    const { clock, isBusy, onDown } = this.#options
    if (clock.now() < this.#heardAt + everyMs) return this.#wait(everyMs)
    let fault = await this.#silence(!this.#ignoresPing)
    if (fault?.code === 'upstream_timeout' && !this.#ignoresPing) {
      fault = await this.#silence(false)
      this.#ignoresPing = fault === undefined
    }
    // Somebody else noticed meanwhile, or it is closed.
    if (this.#timer !== timer) return
    if (fault && !(fault.code === 'upstream_timeout' && isBusy())) {
      this.down()
      onDown(fault)
    } else {
      this.heard()
      this.#wait(this.#everyMs())
    }
  }

  /** Undefined where it answered, if only to refuse. */
  async #silence(lightest: boolean): Promise<Fault | undefined> {
    const { clock, ask } = this.#options
    const message = `The upstream gave no sign of life within ${ANSWER_WITHIN_MS / 1_000} s`
    const limit = upstreamDeadline(clock, ANSWER_WITHIN_MS, message, this.#life.signal)
    try {
      await ask(lightest, limit.signal)
      return undefined
    } catch (error) {
      return error instanceof Fault && isSilence(error) ? error : undefined
    } finally {
      limit.clear()
    }
  }
}

/** Status 500 comes from a server that lives. */
function isSilence({ code, details: { status } }: Fault): boolean {
  if (code === 'upstream_unreachable') return status !== 500
  return code === 'upstream_died' || code === 'upstream_timeout'
}
