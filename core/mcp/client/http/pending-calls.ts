/** Requests that wait for their answers on a stream that all of them share. */
import { Fault } from '../../../errors.ts'
import type { McpResponse } from '../../protocol/json-rpc.ts'
import type { UpstreamCall } from '../../upstream.ts'
import { tooLarge } from './faults.ts'

/** What an event may hold while no call allows more. */
const MIN_EVENT_BYTES = 1024 * 1024

type Pending = {
  resolve: (answer: McpResponse | 'lost') => void
  reject: (fault: Fault) => void
}

export class PendingCalls {
  /** By id, the latest last. */
  readonly calls = new Map<number, UpstreamCall>()
  readonly #waiting = new Map<number, Pending>()

  /** How large an event of the stream may be right now, in bytes. */
  limit(): number {
    return Math.max(MIN_EVENT_BYTES, ...[...this.calls.values()].map(({ maxBytes }) => maxBytes))
  }

  /** The answer to the request `id`, which is being sent. */
  add(id: number, call: UpstreamCall): Promise<McpResponse | 'lost'> {
    this.calls.set(id, call)
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
  }

  /** Waits no longer; false where it did not wait. */
  forget(id: number): boolean {
    this.calls.delete(id)
    return this.#waiting.delete(id)
  }

  /** `bytes` is the size of the event that it came in: the stream's own limit only covers the call that allows most. */
  answer(id: unknown, answer: McpResponse, bytes: number): void {
    const maxBytes = typeof id === 'number' ? (this.calls.get(id)?.maxBytes ?? 0) : 0
    const pending = this.#take(id)
    if (bytes > maxBytes) pending?.reject(tooLarge(maxBytes))
    else pending?.resolve(answer)
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
    const alone = this.#waiting.size === 1
    const message = 'The connection to the upstream ended before the answer'
    for (const { reject } of this.#waiting.values())
      reject(alone ? fault : new Fault('upstream_died', message, { cause: fault }))
    this.#waiting.clear()
    this.calls.clear()
  }

  #take(id: unknown): Pending | undefined {
    if (typeof id !== 'number') return undefined
    const pending = this.#waiting.get(id)
    this.forget(id)
    return pending
  }
}
