/** Holds a call's slot, breaker entry and time limit, and releases them while its caller answers a question. */
import type { Ask } from '../../core/mcp/caller.ts'
import type { Breaker, Entry, Verdict } from './breaker.ts'
import type { CallLimit } from './call-limit.ts'
import type { Slots } from './slots.ts'

export type CallPermitOptions = {
  slots: Slots
  breaker: Breaker
  /** The current limit of concurrent calls. */
  concurrency: () => number
}

export class CallPermit {
  readonly #options: CallPermitOptions
  readonly #limit: CallLimit
  /** Undefined while the call is paused. */
  #entry: Entry | undefined
  #questions = 0
  #over = false

  /** Takes ownership of the slot, the entry and the limit. */
  constructor(options: CallPermitOptions, entry: Entry, limit: CallLimit) {
    this.#options = options
    this.#entry = entry
    this.#limit = limit
  }

  /** Wraps `ask` so that the call is paused meanwhile: a person may think for minutes, which must not count as the upstream's time. */
  asking(ask: Ask): Ask {
    return async (request, signal) => {
      if (this.#questions++ === 0) this.#pause()
      try {
        return await ask(request, signal)
      } finally {
        if (--this.#questions === 0) this.#resume()
      }
    }
  }

  /** Ends the call. While its caller is being asked, slot and entry have been released already. */
  end(verdict: Verdict): void {
    this.#over = true
    this.#limit.end()
    if (this.#questions === 0) this.#release(verdict)
  }

  /** An upstream that asks a question is alive, hence a success. */
  #pause(): void {
    if (this.#over) return
    this.#limit.pause()
    this.#release('success')
  }

  /** Retakes a slot without waiting: the upstream is already working on this call. */
  #resume(): void {
    if (this.#over) return
    this.#options.slots.retake()
    this.#entry = this.#options.breaker.enter()
    this.#limit.resume()
  }

  #release(verdict: Verdict): void {
    const { slots, breaker, concurrency } = this.#options
    if (this.#entry) breaker.leave(this.#entry, verdict)
    this.#entry = undefined
    slots.release(concurrency())
  }
}
