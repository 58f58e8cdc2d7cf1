/** Routes notifications and questions of a 2025 session to the call or client they belong to. */
import type { JsonObject } from '../../../json.ts'
import type { Notification } from '../../protocol/json-rpc.ts'
import { type Incoming, isChange, notifyCaller } from '../../protocol/message.ts'
import type { UpstreamCall } from '../../upstream.ts'
import type { Calls } from '../calls-in-flight.ts'
import { Questions } from '../questions.ts'
import { SessionCallers } from '../session-callers.ts'
import type { SessionHooks } from './session.ts'

const PROGRESS = 'notifications/progress'

export class MessageRouter {
  readonly #hooks: SessionHooks
  readonly #calls: Calls
  readonly #questions: Questions
  readonly #callers = new SessionCallers()

  /** `calls` are those in flight; `send` sends a reply. */
  constructor(hooks: SessionHooks, calls: Calls, send: (reply: JsonObject) => Promise<unknown>) {
    this.#hooks = hooks
    this.#calls = calls
    this.#questions = new Questions({ capabilities: hooks.capabilities, asked: hooks.asked, send })
  }

  /** Call it before a call is sent. */
  began(call: UpstreamCall): void {
    this.#callers.add(call)
  }

  /** Routes a message. `call`: the one on whose stream it arrived; `characters`: length of the text that contained it. */
  take(message: Incoming, characters: number, call?: UpstreamCall): undefined {
    if (message.kind === 'notification') this.#routeNotification(message.notification, call)
    if (message.kind !== 'request') return
    const { id, method, params } = message
    this.#questions.take({ id, method, params, characters }, call ?? this.#latestAsking())
  }

  /** Cancels the open questions of a call that has ended. */
  callEnded(call: UpstreamCall): void {
    this.#questions.callEnded(call)
  }

  /** Cancels all open questions. */
  end(): void {
    this.#questions.end()
  }

  #routeNotification(notification: Notification, call: UpstreamCall | undefined): void {
    const { method, params } = notification
    if (method === 'notifications/cancelled') this.#questions.cancel(params?.requestId)
    else if (isChange(method)) this.#hooks.notified(notification)
    else {
      const receiver = call ?? this.#receiverOf(notification)
      if (receiver) notifyCaller(receiver, notification)
      // Progress of a call that has ended: its token is ours, and could be one of another call of the client.
      else if (method !== PROGRESS) this.#hooks.notified(notification)
    }
  }

  /** Progress names its call. Others belong to the latest call of a client's own session, or to the only call of a shared one. */
  #receiverOf({ method, params }: Notification): UpstreamCall | undefined {
    if (method === PROGRESS) return this.#calls.get(Number(params?.progressToken))
    if (this.#hooks.own) return this.#latest(call => call.caller.notify !== undefined)
    return this.#canGuess() ? this.#latest(() => true) : undefined
  }

  /** On a shared session, a question can only be assigned if there is just one call. */
  #latestAsking(): UpstreamCall | undefined {
    if (!this.#hooks.own && !this.#canGuess()) return undefined
    return this.#latest(call => call.caller.ask !== undefined)
  }

  /** Whether a message on a shared session can only belong to the one call in flight. */
  #canGuess(): boolean {
    return this.#calls.size === 1 && !this.#callers.several
  }

  #latest(fits: (call: UpstreamCall) => boolean): UpstreamCall | undefined {
    return [...this.#calls.values()].findLast(fits)
  }
}
