/** The responses that are not answered yet: to be cancelled by their callers, and waited for at the end. */
import type { ServerResponse } from 'node:http'
import { type Clock, delay } from '../../async.ts'
import { Fault } from '../../errors.ts'
import { PostResponse } from './post-response.ts'

/** What an aborted call may still take to be answered. */
const ABORT_GRACE_MS = 500
const NO_HEADERS: readonly string[] = []

type Entry = { response: PostResponse; key: string | undefined; at: number }

export class InFlight {
  /** In no order; each entry knows its place. */
  readonly #entries: Entry[] = []
  #whenIdle: (() => void) | undefined

  get size(): number {
    return this.#entries.length
  }

  /**
   * Begins a response and keeps it until its answer is sent or its caller gone. `key` is the client, a space, and what names its
   * request, where they are known: what `cancel` takes. `headers` go into the answer's head.
   */
  open(raw: ServerResponse, key: string | undefined, headers: readonly string[] = NO_HEADERS): PostResponse {
    const response = new PostResponse(raw, headers, () => this.#forget(entry))
    const entry = { response, key, at: this.#entries.length }
    this.#entries.push(entry)
    return response
  }

  /** The last entry takes the place of the one that goes. */
  #forget(entry: Entry): void {
    const last = this.#entries.pop()
    if (last && last !== entry) {
      last.at = entry.at
      this.#entries[entry.at] = last
    }
    if (this.#entries.length === 0) this.#whenIdle?.()
  }

  /** Of several with this key, which only a confused caller has, one; false where there is none. */
  cancel(key: string): boolean {
    const entry = this.#entries.find(entry => entry.key === key)
    entry?.response.cancel()
    return entry !== undefined
  }

  /** Aborts all that a client waits for. */
  abortOf(client: string, reason: Fault): void {
    const own = this.#entries.filter(({ key }) => key?.startsWith(`${client} `))
    for (const { response } of own) response.abort(reason)
  }

  /** Waits until all is answered; after `limitMs` the rest is aborted and has a moment for its answers. */
  async drain(limitMs: number, clock: Clock): Promise<void> {
    await this.#idle(limitMs, clock)
    for (const { response } of [...this.#entries]) {
      response.abort(new Fault('cancelled', 'The server is shutting down.', { retryable: true }))
    }
    await this.#idle(ABORT_GRACE_MS, clock)
  }

  async #idle(limitMs: number, clock: Clock): Promise<void> {
    if (this.#entries.length === 0) return
    const done = new AbortController()
    const idle = new Promise<void>(resolve => {
      this.#whenIdle = resolve
    })
    await Promise.race([idle, delay(clock, limitMs, done.signal).catch(() => {})])
    done.abort()
    this.#whenIdle = undefined
  }
}
