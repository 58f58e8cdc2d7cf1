/** Delays the first call to a client's child until the questions that the child asks at its start, mostly roots/list, are answered. */
import { type Clock, delay } from '../../../async.ts'
import { waitFor } from '../../../deadline.ts'
import type { Ask } from '../../caller.ts'
import type { UpstreamCall } from '../../upstream.ts'

/** Stops waiting for a child that does not answer a ping in time. */
const PING_MS = 1_000
/** After this time the call is sent without the answers. Programs, not people, answer such questions. */
const ANSWERS_MS = 10_000
/** Time for the child to process an answer. */
const PROCESSING_MS = 50

export type StartupQuestionsOptions = {
  clock: Clock
  /** Settles once the child has read all earlier messages, and so has asked its first questions. */
  ping: () => Promise<unknown>
}

export class StartupQuestions {
  readonly #options: StartupQuestionsOptions
  /** Delayed calls. */
  readonly #held = new Set<UpstreamCall>()
  #asked: Promise<unknown>[] = []
  #settled: Promise<void> | undefined

  constructor(options: StartupQuestionsOptions) {
    this.#options = options
  }

  /** Delays a call; the first one starts the ping. Rejects only with the Fault of `signal`. */
  async wait(call: UpstreamCall, signal: AbortSignal): Promise<void> {
    this.#held.add(call)
    this.#settled ??= this.#settle()
    await waitFor(this.#settled, signal).finally(() => this.#held.delete(call))
  }

  /** A delayed call whose caller can answer the child's questions. */
  asking(): UpstreamCall | undefined {
    const call = [...this.#held].find(({ caller }) => caller.ask)
    const ask = call?.caller.ask
    if (!ask) return undefined
    const recorded: Ask = (request, signal) => {
      const answer = ask(request, signal)
      this.#asked.push(answer)
      return answer
    }
    return { ...call, caller: { ...call.caller, ask: recorded } }
  }

  async #settle(): Promise<void> {
    const { clock, ping } = this.#options
    await Promise.race([ping().catch(() => {}), delay(clock, PING_MS)])
    if (this.#asked.length === 0) return
    let isLate = false
    const late = delay(clock, ANSWERS_MS).then(() => {
      isLate = true
    })
    while (this.#asked.length > 0 && !isLate) {
      await Promise.race([Promise.allSettled(this.#asked.splice(0)), late])
      await delay(clock, PROCESSING_MS)
    }
  }
}
