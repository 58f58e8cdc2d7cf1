/** Calls of the 2026 era that wait for answers of their callers: each is found again by the requestState that its caller was given. */
import type { Clock, Timer } from '../../async.ts'
import { Fault } from '../../errors.ts'
import { INVALID_PARAMS } from '../protocol/error-codes.ts'
import type { McpResponse } from '../protocol/json-rpc.ts'
import { ANSWER_WITHIN_MS, unanswered } from './asks.ts'
import type { McpHandler, McpRequest } from './handler.ts'
import { HeldCall } from './held-call.ts'
import type { PostResponse } from './post-response.ts'
import type { Signer } from './signed.ts'

const MAX_HELD = 1_024
/** Of all bodies of calls that wait, in characters: they are kept as long, and parsed they may take fifteen times as many bytes. */
const MAX_HELD_CHARACTERS = 16 * 1024 * 1024

export class HeldCalls {
  readonly #clock: Clock
  readonly #signer: Signer
  readonly #held = new Map<string, { call: HeldCall; timer: Timer }>()
  #characters = 0
  #ended = false

  constructor(clock: Clock, signer: Signer) {
    this.#clock = clock
    this.#signer = signer
  }

  get size(): number {
    return this.#held.size
  }

  /**
   * Has a request handled so that its caller can be asked. Resolves with the reply, or with `input_required` as soon as there is a
   * question; then the call goes on without its caller for up to 10 min, and what it tells meanwhile is lost.
   */
  run(handler: McpHandler, request: McpRequest, response: PostResponse): Promise<McpResponse> {
    return new HeldCall(request, this.#clock, call => this.#hold(call)).start(handler, response)
  }

  /** Hands answers to the call that waits for them; undefined where the request's state is none of ours. */
  resume(request: McpRequest, response: PostResponse): Promise<McpResponse> | McpResponse | undefined {
    const state = request.params.requestState
    if (!this.#signer.claimsOurs(state)) return undefined
    const signed = this.#signer.readMark('state', state)
    if (!signed) return refused('requestState is not valid, or too old')
    const held = this.#held.get(state as string)
    if (!held) return refused('The call that asked does not wait any more')
    if (!held.call.isRepeatedBy(request))
      return refused('The call that asked was another one: repeat it with the same name and arguments')
    this.#release(state as string)
    return held.call.resume(request, response)
  }

  /** Ends all calls that wait, and holds no others. */
  endAll(): void {
    this.#ended = true
    for (const [state, { call }] of [...this.#held]) {
      this.#release(state)
      call.giveUp(new Fault('cancelled', 'The server is shutting down.', { retryable: true }))
    }
  }

  /** The state by which a call is found again; undefined where too many wait. */
  #hold(call: HeldCall): string | undefined {
    if (this.#ended || this.#isFull(call)) return undefined
    const state = this.#signer.mark('state', ANSWER_WITHIN_MS)
    const timer = this.#clock.after(ANSWER_WITHIN_MS, () => {
      this.#release(state)
      call.giveUp(unanswered())
    })
    this.#held.set(state, { call, timer })
    this.#characters += call.characters
    return state
  }

  #release(state: string): void {
    const held = this.#held.get(state)
    if (!held) return
    held.timer.cancel()
    this.#held.delete(state)
    this.#characters -= held.call.characters
  }

  #isFull({ characters }: HeldCall): boolean {
    return this.#held.size >= MAX_HELD || this.#characters + characters > MAX_HELD_CHARACTERS
  }
}

function refused(why: string): McpResponse {
  const data = { reason: 'invalid_request_state' }
  return { error: { code: INVALID_PARAMS, message: `${why}; call the tool again.`, data } }
}
