/** Holds the first call of a client's child back until the child knows what it asks as it starts: its client's roots, most of all. */
import { type Clock, delay } from '../../../async.ts'
import { waitFor } from '../../../deadline.ts'
import type { Ask } from '../../caller.ts'
import type { UpstreamCall } from '../../upstream.ts'

/** A child that does not even answer a ping is not waited for. */
const PING_MS = 1_000
/** Programs answer such questions, not people: then the call is made without the answer. */
const ANSWERS_MS = 10_000
/** An answer takes effect a moment after it was read. */
const TAKEN_IN_MS = 50

export type SettlingOptions = {
  clock: Clock
  /** Settles once the child has read all that was sent before: what it asks at once is asked by then. */
  ping: () => Promise<unknown>
}

export class Settling {
  readonly #options: SettlingOptions
  /** Calls that are held back. */
  readonly #held = new Set<UpstreamCall>()
  #asked: Promise<unknown>[] = []
  #settled: Promise<void> | undefined

  constructor(options: SettlingOptions) {
    this.#options = options
  }

  /** Begins with the first call. Rejects only with the Fault of `signal`. */
  async wait(call: UpstreamCall, signal: AbortSignal): Promise<void> {
    this.#held.add(call)
    this.#settled ??= this.#settle()
    await waitFor(this.#settled, signal).finally(() => this.#held.delete(call))
  }

  /** The call that carries a question which comes meanwhile. */
  asking(): UpstreamCall | undefined {
    const call = [...this.#held].find(({ caller }) => caller.ask)
    const ask = call?.caller.ask
    if (!ask) return undefined
    const remembered: Ask = (request, signal) => {
      const answer = ask(request, signal)
      this.#asked.push(answer)
      return answer
    }
    return { ...call, caller: { ...call.caller, ask: remembered } }
  }

  async #settle(): Promise<void> {
    const { clock, ping } = this.#options
    await Promise.race([ping().catch(() => {}), delay(clock, PING_MS)])
    if (this.#asked.length === 0) return
    const late = delay(clock, ANSWERS_MS)
    while (this.#asked.length > 0) {
      await Promise.race([Promise.allSettled(this.#asked.splice(0)), late])
      await delay(clock, TAKEN_IN_MS)
    }
  }
}
