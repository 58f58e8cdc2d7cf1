/** What a call holds of its member, which is a slot, a place at the breaker and its time: all of it rests while the caller is asked. */
import type { Ask } from '../../core/mcp/caller.ts'
import type { Breaker, Entry, Verdict } from './breaker.ts'
import type { CallLimit } from './call-limit.ts'
import type { Slots } from './slots.ts'

export type CallPermitOptions = {
  slots: Slots
  breaker: Breaker
  /** How many calls may run at once, as it is when it is asked. */
  concurrency: () => number
}

export class CallPermit {
  readonly #options: CallPermitOptions
  readonly #limit: CallLimit
  /** Undefined where the breaker is not told how it goes. */
  #entry: Entry | undefined
  #questions = 0
  #over = false

  /** Takes over a slot, an entry and a limit, and gives them back. */
  constructor(options: CallPermitOptions, entry: Entry, limit: CallLimit) {
    this.#options = options
    this.#entry = entry
    this.#limit = limit
  }

  /** Asks for a call that rests meanwhile: who is asked may have to think for minutes, which is no time of the upstream's. */
  asking(ask: Ask): Ask {
    return async (request, signal) => {
      if (this.#questions++ === 0) this.#rest()
      try {
        return await ask(request, signal)
      } finally {
        if (--this.#questions === 0) this.#goOn()
      }
    }
  }

  end(verdict: Verdict): void {
    this.#over = true
    this.#limit.end()
    if (this.#questions === 0) this.#giveBack(verdict)
  }

  /** Whoever asks lives. */
  #rest(): void {
    if (this.#over) return
    this.#limit.pause()
    this.#giveBack('success')
  }

  /** Takes a slot again without waiting for one: the upstream is at work on this call already. */
  #goOn(): void {
    if (this.#over) return
    this.#options.slots.retake()
    this.#entry = this.#options.breaker.enter()
    this.#limit.resume()
  }

  #giveBack(verdict: Verdict): void {
    const { slots, breaker, concurrency } = this.#options
    if (this.#entry) breaker.leave(this.#entry, verdict)
    this.#entry = undefined
    slots.release(concurrency())
  }
}
