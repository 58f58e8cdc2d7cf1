/** What a session of the 2025 era says and asks besides its answers: each message finds the call, or the client, that it is for. */
import type { JsonObject } from '../../../json.ts'
import type { Notification } from '../../protocol/json-rpc.ts'
import { type Incoming, isChange, notifyCaller } from '../../protocol/message.ts'
import type { UpstreamCall } from '../../upstream.ts'
import { Questions } from '../questions.ts'
import type { Calls } from './calls-in-flight.ts'
import type { SessionHooks } from './session.ts'

export class MessageRouter {
  readonly #hooks: SessionHooks
  readonly #calls: Calls
  readonly #questions: Questions

  /** `calls` are those in flight; `send` sends a reply. */
  constructor(hooks: SessionHooks, calls: Calls, send: (reply: JsonObject) => Promise<unknown>) {
    this.#hooks = hooks
    this.#calls = calls
    this.#questions = new Questions({ capabilities: hooks.capabilities, asked: hooks.asked, send })
  }

  /** `call` is the one on whose own stream it came; `characters` the length of the text that it came in. */
  take(message: Incoming, characters: number, call?: UpstreamCall): undefined {
    if (message.kind === 'notification') this.#hear(message.notification, call)
    if (message.kind !== 'request') return
    const { id, method, params } = message
    this.#questions.take({ id, method, params, characters }, call ?? this.#latestAsking())
  }

  /** The call has its answer, or nobody waits for it: what it asked is withdrawn. */
  callEnded(call: UpstreamCall): void {
    this.#questions.callEnded(call)
  }

  end(): void {
    this.#questions.end()
  }

  #hear(notification: Notification, call: UpstreamCall | undefined): void {
    const { method, params } = notification
    if (method === 'notifications/cancelled') this.#questions.cancel(params?.requestId)
    else if (isChange(method)) this.#hooks.notified(notification)
    else {
      const taker = call ?? this.#takerOf(notification)
      if (taker) notifyCaller(taker, notification)
      else this.#hooks.notified(notification)
    }
  }

  /** Progress names its call. Else it is the latest of a client's own session; of a shared one, the only one there is. */
  #takerOf({ method, params }: Notification): UpstreamCall | undefined {
    if (method === 'notifications/progress') return this.#calls.get(Number(params?.progressToken))
    if (this.#hooks.own) return this.#latest(call => call.caller.notify !== undefined)
    return this.#calls.size === 1 ? this.#latest(() => true) : undefined
  }

  /** On a shared session nobody knows whose question it is, unless there is only one call. */
  #latestAsking(): UpstreamCall | undefined {
    if (!this.#hooks.own && this.#calls.size > 1) return undefined
    return this.#latest(call => call.caller.ask !== undefined)
  }

  #latest(fits: (call: UpstreamCall) => boolean): UpstreamCall | undefined {
    return [...this.#calls.values()].findLast(fits)
  }
}
