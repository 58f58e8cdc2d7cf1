/** Calls of the 2026 era that wait for answers from their callers, by the `requestState` that each caller received. */
import type { Clock, Timer } from '../../async.ts'
import { Fault } from '../../errors.ts'
import { INVALID_PARAMS } from '../protocol/error-codes.ts'
import type { McpResponse } from '../protocol/json-rpc.ts'
import { ANSWER_WITHIN_MS, unanswered } from './client-requests.ts'
import type { McpHandler, McpRequest } from './handler.ts'
import { HeldCall } from './held-call.ts'
import type { PostResponse } from './post-response.ts'
import { shareOf } from './shares.ts'
import type { Signer } from './signed.ts'

const MAX_HELD = 1_024
/** Total length of the bodies and questions of held calls. Parsed JSON takes up to 15 times its text's size. */
const MAX_HELD_CHARACTERS = 16 * 1024 * 1024

type Held = { call: HeldCall; timer: Timer }

export class HeldCalls {
  readonly #clock: Clock
  readonly #signer: Signer
  readonly #distinguishesCallers: () => boolean
  readonly #held = new Map<string, Held>()
  #ended = false

  constructor(clock: Clock, signer: Signer, distinguishesCallers: () => boolean) {
    this.#clock = clock
    this.#signer = signer
    this.#distinguishesCallers = distinguishesCallers
  }

  get size(): number {
    return this.#held.size
  }

  /**
   * Handles a request whose caller can be asked. Resolves with the reply, or with `input_required` as soon as there is a question; then
   * the call waits up to 10 min for its caller, and notifications in between are lost.
   */
  run(handler: McpHandler, request: McpRequest, response: PostResponse): Promise<McpResponse> {
    return new HeldCall(request, this.#clock, call => this.#hold(call)).start(handler, response)
  }

  /** Passes answers to the call that waits for them; undefined if Portolan did not issue the `requestState`, but a server. */
  resume(request: McpRequest, response: PostResponse): Promise<McpResponse> | McpResponse | undefined {
    const state = request.params.requestState
    if (!this.#signer.claimsOurs(state)) return undefined
    const signed = this.#signer.readMark('state', state)
    if (!signed) return refused('requestState is not valid, or too old')
    const held = this.#held.get(state as string)
    // A call of another caller is treated like one that no longer exists.
    if (held?.call.identityId !== request.caller.identity.id)
      return refused('The call that asked no longer waits')
    if (!held.call.isRepeatedBy(request))
      return refused('requestState belongs to a call with another name or other arguments')
    this.#release(state as string)
    return held.call.resume(request, response)
  }

  /** Ends all held calls, and holds no new ones. */
  endAll(): void {
    this.#ended = true
    for (const [state, { call }] of [...this.#held]) {
      this.#release(state)
      call.giveUp(new Fault('cancelled', 'The server is shutting down.', { retryable: true }))
    }
  }

  /** Stores a call and returns its `requestState`; undefined if too many calls wait. */
  #hold(call: HeldCall): string | undefined {
    if (this.#ended || this.#isFull(call)) return undefined
    const state = this.#signer.mark('state', ANSWER_WITHIN_MS)
    const timer = this.#clock.after(ANSWER_WITHIN_MS, () => {
      this.#release(state)
      call.giveUp(unanswered())
    })
    this.#held.set(state, { call, timer })
    return state
  }

  #release(state: string): void {
    const held = this.#held.get(state)
    if (!held) return
    held.timer.cancel()
    this.#held.delete(state)
  }

  #isFull(call: HeldCall): boolean {
    if (this.#held.size >= MAX_HELD) return true
    if (charactersOf(this.#held.values(), call.characters) > MAX_HELD_CHARACTERS) return true
    return this.#distinguishesCallers() && this.#usesItsShare(call)
  }

  /** Whether the caller of a call has used its share. One call may be longer than the share of characters. */
  #usesItsShare({ identityId, characters }: HeldCall): boolean {
    const own = this.#held
      .values()
      .filter(({ call }) => call.identityId === identityId)
      .toArray()
    const total = charactersOf(own, characters)
    const isTooLong = own.length > 0 && total > shareOf(identityId, MAX_HELD_CHARACTERS)
    return own.length >= shareOf(identityId, MAX_HELD) || isTooLong
  }
}

/** Computed each time, because a held call can get further questions. */
function charactersOf(held: Iterable<Held>, more: number): number {
  return Iterator.from(held).reduce((sum, { call }) => sum + call.characters, more)
}

/** The error for answers that cannot be passed on. `why`: a sentence without its full stop. */
function refused(why: string): McpResponse {
  const data = { reason: 'invalid_request_state' }
  return { error: { code: INVALID_PARAMS, message: `${why}; call the tool again.`, data } }
}
