/** The time limit of one call: the call also ends when its caller leaves, and the time is paused while that caller answers a question. */
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
    this.#endsAt = clock.elapsed() + ms
    this.#timer = clock.after(ms, this.#onTime)
    if (caller.aborted) this.#onAbort()
    else caller.addEventListener('abort', this.#onAbort)
  }

  /** Aborts with the fault that ends the call early. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Replaces the remaining time. */
  restart(ms: number): void {
    this.#timer.cancel()
    this.#endsAt = this.#clock.elapsed() + ms
    this.#timer = this.#clock.after(ms, this.#onTime)
  }

  /** Stops the clock; the call still ends if the caller leaves. */
  pause(): void {
    this.#timer.cancel()
    this.#leftMs = this.#endsAt - this.#clock.elapsed()
  }

  resume(): void {
    this.restart(this.#leftMs)
  }

  /** Cancels the timer and stops listening to the caller's signal. */
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
  return new Fault('cancelled', 'the caller disconnected')
}
