/** The time that one call may take: it ends with the call's caller too, and stands still while that one is asked something. */
import type { Clock, Timer } from '../../core/async.ts'
import { Fault } from '../../core/errors.ts'

export class CallLimit {
  readonly #clock: Clock
  readonly #caller: AbortSignal
  readonly #controller = new AbortController()
  #timer: Timer
  #endsAt: number
  #leftMs = 0

  constructor(clock: Clock, ms: number, caller: AbortSignal) {
    this.#clock = clock
    this.#caller = caller
    this.#endsAt = clock.now() + ms
    this.#timer = clock.after(ms, this.#onTime)
    if (caller.aborted) this.#onAbort()
    else caller.addEventListener('abort', this.#onAbort, { once: true })
  }

  /** Aborts with the fault that ends the call early. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** From now on there is so much time, whatever there was before. */
  restart(ms: number): void {
    this.#timer.cancel()
    this.#endsAt = this.#clock.now() + ms
    this.#timer = this.#clock.after(ms, this.#onTime)
  }

  /** Time stands still; the caller is still followed. */
  pause(): void {
    this.#timer.cancel()
    this.#leftMs = this.#endsAt - this.#clock.now()
  }

  resume(): void {
    this.restart(this.#leftMs)
  }

  /** Follows nobody any more. */
  end(): void {
    this.#timer.cancel()
    this.#caller.removeEventListener('abort', this.#onAbort)
  }

  readonly #onTime = (): void => {
    this.#controller.abort(new Fault('upstream_timeout', 'no answer in time'))
  }

  readonly #onAbort = (): void => {
    const { reason } = this.#caller
    this.#controller.abort(reason instanceof Fault ? reason : cancelled())
  }
}

export function cancelled(): Fault {
  return new Fault('cancelled', 'the caller went away')
}
