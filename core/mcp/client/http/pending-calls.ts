/** Requests that wait for their answers on one shared stream. */
import { Fault } from '../../../errors.ts'
import type { McpResponse } from '../../protocol/json-rpc.ts'
import { ownId } from '../../protocol/message.ts'
import type { UpstreamCall } from '../../upstream.ts'
import { tooLarge } from './faults.ts'

/** The limit of an event while no call allows more. */
const MIN_EVENT_BYTES = 1024 * 1024

type Pending = {
  resolve: (answer: McpResponse | 'lost') => void
  reject: (fault: Fault) => void
}

export class PendingCalls {
  /** By id, the latest last. */
  readonly calls = new Map<number, UpstreamCall>()
  readonly #waiting = new Map<number, Pending>()

  /** The current limit of an event, in bytes. */
  limit(): number {
    return Math.max(MIN_EVENT_BYTES, ...[...this.calls.values()].map(({ maxBytes }) => maxBytes))
  }

  /** Resolves with the answer to request `id`. */
  add(id: number, call: UpstreamCall): Promise<McpResponse | 'lost'> {
    this.calls.set(id, call)
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
  }

  /** Stops waiting; false if `id` was not waiting. */
  forget(id: number): boolean {
    this.calls.delete(id)
    return this.#waiting.delete(id)
  }

  /** `bytes`: size of the event with the answer, checked here because the stream's limit is the largest of all calls. */
  answer(id: unknown, answer: McpResponse, bytes: number): void {
    const own = ownId(id)
    if (own === undefined) return
    const maxBytes = this.calls.get(own)?.maxBytes ?? 0
    const pending = this.#take(own)
    if (bytes > maxBytes) pending?.reject(tooLarge(maxBytes))
    else pending?.resolve(answer)
  }

  /** The POST of a request failed. */
  refused(id: number, error: unknown): void {
    const fault =
      error instanceof Fault
        ? error
        : new Fault('upstream_protocol', 'The upstream takes no messages', { cause: error })
    this.#take(id)?.reject(fault)
  }

  /** The POST of a request was refused because the upstream lost the session. */
  lost(id: number): void {
    this.#take(id)?.resolve('lost')
  }

  /**
   * Rejects all calls: a single one with `fault`, several with upstream_died, because any of them may have caused it. If answers of other upstreams
   * caused it, this one has not failed.
   */
  end(fault: Fault): void {
    const isKnown = this.#waiting.size === 1 || fault.details.crowded === true
    const message = 'The connection to the upstream ended before the answer'
    for (const { reject } of this.#waiting.values())
      reject(isKnown ? fault : new Fault('upstream_died', message, { cause: fault }))
    this.#waiting.clear()
    this.calls.clear()
  }

  #take(id: number): Pending | undefined {
    const pending = this.#waiting.get(id)
    this.forget(id)
    return pending
  }
}
