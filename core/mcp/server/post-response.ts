/** The response to one POST: plain JSON in a single write, or an event stream if notifications or questions come before the answer. */

import type { ServerResponse } from 'node:http'
import { peerAddress } from '../../addresses.ts'
import { Fault } from '../../errors.ts'
import type { JsonObject, JsonValue } from '../../json.ts'
import { UNCOUNTED_UNSENT_CHARACTERS } from '../answer-room.ts'

/** Notifications are dropped while this many bytes are unsent: the client reads too slowly. */
const MAX_UNSENT_BYTES = 1 << 20

/** How long a caller may pause while it reads a large answer. */
const MAX_UNREAD_MS = 60_000

export const JSON_TYPE = 'application/json'
/** The response headers of an event stream. */
export const STREAM_HEAD: readonly string[] = [
  'content-type',
  'text/event-stream',
  'cache-control',
  'no-cache, no-transform',
  'x-accel-buffering',
  'no',
]
/** An SSE comment: proxies see traffic, clients ignore it. */
export const HEARTBEAT = ':\n\n'

const NO_HEADERS: readonly string[] = []

type Message = { method: string; params?: JsonObject; id?: JsonValue }

export class PostResponse {
  readonly #raw: ServerResponse
  readonly #controller = new AbortController()
  readonly #headers: readonly string[]
  #streaming = false
  #silent = false
  #outlived = false

  /** `headers`: names and values in turn. `onClose` runs when the response is sent or the caller has gone. */
  constructor(raw: ServerResponse, headers: readonly string[], onClose: () => void) {
    this.#raw = raw
    this.#headers = headers
    whenClosed(raw, () => {
      onClose()
      if (!raw.writableFinished && !this.#outlived)
        this.abort(new Fault('cancelled', 'The caller went away.'))
    })
  }

  /** The IP address of the caller; undefined if the connection is closed. */
  get address(): string | undefined {
    return peerAddress(this.#raw.socket)
  }

  /** Aborts when the caller goes away or cancels. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  abort(reason: Fault): void {
    this.#controller.abort(reason)
  }

  /** The call continues after this response: from now on only `abort` aborts its signal. */
  outlive(): void {
    this.#outlived = true
  }

  /** The caller cancelled the request, so it gets no answer. */
  cancel(): void {
    this.#silent = true
    this.abort(new Fault('cancelled', 'The caller cancelled the request.'))
  }

  /** Sends a notification ahead of the answer, which makes the response an event stream; dropped if the client reads too slowly. */
  notify(notification: Message): void {
    if (this.#raw.writableLength <= MAX_UNSENT_BYTES) this.send(notification)
  }

  /** Sends a message that must not be dropped, such as a question; false if the caller has gone. */
  send(message: Message): boolean {
    const raw = this.#raw
    if (raw.writableEnded || raw.destroyed || this.#silent) return false
    if (!this.#streaming) {
      this.#streaming = true
      raw.writeHead(200, [...STREAM_HEAD, ...this.#headers])
    }
    raw.write(frame(JSON.stringify({ jsonrpc: '2.0', ...message })))
    return true
  }

  /** Sends a heartbeat if the response is an event stream. */
  beat(): void {
    const raw = this.#raw
    if (this.#streaming && !raw.writableEnded && !raw.destroyed) raw.write(HEARTBEAT)
  }

  /** Sends the answer; `text` is JSON, undefined for an empty body. Ignores status and headers if the response is already a stream. */
  end(status: number, text: string | undefined, headers: readonly string[] = NO_HEADERS): void {
    const raw = this.#raw
    if (raw.writableEnded || raw.destroyed) return
    if (text !== undefined && text.length > UNCOUNTED_UNSENT_CHARACTERS) closeIfUnread(raw)
    if (this.#streaming) raw.end(this.#silent || text === undefined ? undefined : frame(text))
    else if (this.#silent) writeText(raw, 202, undefined)
    else writeText(raw, status, text, headers.length === 0 ? this.#headers : [...this.#headers, ...headers])
  }

  /** Sends the answers of a batch: as one JSON array, or as events if the response is a stream; empty if there are none. */
  endBatch(texts: readonly string[]): void {
    const raw = this.#raw
    if (!this.#streaming) this.end(texts.length > 0 ? 200 : 202, texts.length > 0 ? `[${texts}]` : undefined)
    else if (!raw.writableEnded && !raw.destroyed) {
      closeIfUnread(raw)
      raw.end(texts.map(frame).join(''))
    }
  }
}

/** Closes the connection if its caller reads nothing for a minute, because a large answer keeps others from being sent until it is read. */
function closeIfUnread(raw: ServerResponse): void {
  const { socket } = raw.req
  raw.setTimeout(MAX_UNREAD_MS, () => raw.destroy())
  // The limit must not hold for another request that already waits on the connection.
  whenClosed(raw, () => {
    if (socket.timeout === MAX_UNREAD_MS) socket.setTimeout(0)
  })
}

/** Calls `run` when a response is sent or its caller has gone, also if that already happened: node:http emits `close` only once. */
export function whenClosed(raw: ServerResponse, run: () => void): void {
  if (raw.closed) process.nextTick(run)
  else raw.on('close', run)
}

/** One JSON message as an SSE event. Line breaks occur only between JSON tokens, where a space is equivalent. */
export function frame(text: string): string {
  const line = text.includes('\n') || text.includes('\r') ? text.replaceAll(/[\r\n]/g, ' ') : text
  return `event: message\ndata: ${line}\n\n`
}

/** Sends a whole response in one write. */
export function writeText(
  raw: ServerResponse,
  status: number,
  text: string | undefined,
  headers: readonly string[] = NO_HEADERS,
): void {
  if (text === undefined) {
    raw.writeHead(status, ['content-length', '0', ...headers])
    raw.end()
    return
  }
  const head = ['content-type', JSON_TYPE, 'content-length', `${Buffer.byteLength(text)}`]
  raw.writeHead(status, headers.length === 0 ? head : [...head, ...headers])
  raw.end(text)
}
