/** Requests that wait for their answers on a stream that all of them share. */
import { Fault } from '../../errors.ts'
import type { JsonObject } from '../../json.ts'
import { withCallersToken } from '../message.ts'
import type { Notification, UpstreamAnswer, UpstreamCall } from '../upstream.ts'
import { tooLarge } from './faults.ts'

/** What an event may hold while no call allows more. */
const MIN_EVENT_BYTES = 1024 * 1024

type Pending = {
  call: UpstreamCall
  resolve: (answer: UpstreamAnswer | 'lost') => void
  reject: (fault: Fault) => void
}

export class PendingCalls {
  readonly #calls = new Map<number, Pending>()

  /** How large an event of the stream may be right now, in bytes. */
  limit(): number {
    return Math.max(MIN_EVENT_BYTES, ...[...this.#calls.values()].map(({ call }) => call.maxBytes))
  }

  /** The answer to the request `id`, which is being sent. */
  add(id: number, call: UpstreamCall): Promise<UpstreamAnswer | 'lost'> {
    return new Promise((resolve, reject) => this.#calls.set(id, { call, resolve, reject }))
  }

  /** Waits no longer; false where it did not wait. */
  forget(id: number): boolean {
    return this.#calls.delete(id)
  }

  answer(id: unknown, answer: UpstreamAnswer): void {
    const pending = this.#take(id)
    if (!pending) return
    const { maxBytes } = pending.call
    if (answer.result && isLarger(answer.result, maxBytes)) pending.reject(tooLarge(maxBytes))
    else pending.resolve(answer)
  }

  /** Progress goes to the call whose id is its token; anything else belongs to a call only while there is just one. */
  notify(notification: Notification): void {
    const token =
      notification.method === 'notifications/progress' ? notification.params?.progressToken : undefined
    const [only] = this.#calls.values()
    const pending =
      typeof token === 'number' ? this.#calls.get(token) : this.#calls.size === 1 ? only : undefined
    pending?.call.onNotification?.(withCallersToken(notification, pending.call))
  }

  /** The upstream did not take the request: it forgot the session (404, or 400 as the SDK's examples say), or it fails. */
  refused(id: number, error: unknown): void {
    const pending = this.#take(id)
    const fault =
      error instanceof Fault
        ? error
        : new Fault('upstream_protocol', 'The upstream takes no messages', { cause: error })
    if (fault.details.status === 404 || fault.details.status === 400) pending?.resolve('lost')
    else pending?.reject(fault)
  }

  /** Ends all: a call that is alone is told the very fault, several cannot know whose it is. */
  end(fault: Fault): void {
    const alone = this.#calls.size === 1
    const message = 'The connection to the upstream ended before the answer'
    for (const { reject } of this.#calls.values())
      reject(alone ? fault : new Fault('upstream_died', message, { cause: fault }))
    this.#calls.clear()
  }

  #take(id: unknown): Pending | undefined {
    if (typeof id !== 'number') return undefined
    const pending = this.#calls.get(id)
    this.#calls.delete(id)
    return pending
  }
}

/** The stream's own limit covers calls that may take at least as much. */
function isLarger(result: JsonObject, maxBytes: number): boolean {
  return maxBytes < MIN_EVENT_BYTES && Buffer.byteLength(JSON.stringify(result)) > maxBytes
}
