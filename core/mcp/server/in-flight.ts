/** The responses that are not sent yet: callers can cancel them, and the shutdown waits for them. */
import type { ServerResponse } from 'node:http'
import { type Clock, delay } from '../../async.ts'
import { Fault } from '../../errors.ts'
import { type Placed, PlacedList } from '../../placed-list.ts'
import { AnswerRoom } from '../answer-room.ts'
import { PostResponse } from './post-response.ts'

/** How long an aborted call may take to send its response. */
const ABORT_GRACE_MS = 500
const NO_HEADERS: readonly string[] = []

type Entry = Placed & { response: PostResponse; key: string | undefined }

export class InFlight {
  /** For answers over 16 KiB until their callers have read them. */
  readonly unsent: AnswerRoom
  readonly #entries = new PlacedList<Entry>()
  #whenIdle: (() => void) | undefined

  constructor(unsent = new AnswerRoom()) {
    this.unsent = unsent
  }

  get size(): number {
    return this.#entries.size
  }

  /**
   * Opens a response and keeps it until it is sent or its caller has gone. `key`, for `cancel` and `abortOf`, is the client, a space, and
   * the request's id; undefined if the client is unknown. `headers`: further response headers.
   */
  open(raw: ServerResponse, key: string | undefined, headers: readonly string[] = NO_HEADERS): PostResponse {
    const response = new PostResponse(raw, headers, () => this.#forget(entry))
    const entry = { response, key, place: 0 }
    this.#entries.add(entry)
    return response
  }

  #forget(entry: Entry): void {
    this.#entries.remove(entry)
    if (this.#entries.size === 0) this.#whenIdle?.()
  }

  /** Cancels the response with this key; false if there is none. */
  cancel(key: string): boolean {
    const entry = this.#entries.find(entry => entry.key === key)
    entry?.response.cancel()
    return entry !== undefined
  }

  /** Aborts all requests of a client. */
  abortOf(client: string, reason: Fault): void {
    const ofClient = this.#entries.toArray().filter(({ key }) => key?.startsWith(`${client} `))
    for (const { response } of ofClient) response.abort(reason)
  }

  /** Waits until all responses are sent. After `limitMs`, aborts the rest and gives them 500 ms to respond. */
  async drain(limitMs: number, clock: Clock): Promise<void> {
    await this.#idle(limitMs, clock)
    for (const { response } of this.#entries.toArray()) {
      response.abort(new Fault('cancelled', 'The server is shutting down.', { retryable: true }))
    }
    await this.#idle(ABORT_GRACE_MS, clock)
  }

  /** Waits until all responses are sent, for `limitMs` at most. */
  async #idle(limitMs: number, clock: Clock): Promise<void> {
    if (this.#entries.size === 0) return
    const done = new AbortController()
    const idle = new Promise<void>(resolve => {
      this.#whenIdle = resolve
    })
    await Promise.race([idle, delay(clock, limitMs, done.signal).catch(() => {})])
    done.abort()
    this.#whenIdle = undefined
  }
}
