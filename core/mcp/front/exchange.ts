/** One POST and its answer: plain JSON in a single write, or an event stream once something is to be told before the end. */
import type { ServerResponse } from 'node:http'
import { Fault } from '../../errors.ts'
import type { JsonObject, JsonValue } from '../../json.ts'

/** Notifications beyond this many unsent bytes are dropped: the reader is too slow for them. */
const MAX_UNSENT_BYTES = 1 << 20

export const JSON_TYPE = 'application/json'
/** The head of an event stream. */
export const STREAM_HEAD: readonly string[] = [
  'content-type',
  'text/event-stream',
  'cache-control',
  'no-cache, no-transform',
  'x-accel-buffering',
  'no',
]
/** A comment: it reaches whoever stands between, and no client. */
export const HEARTBEAT = ':\n\n'

export class Exchange {
  readonly #raw: ServerResponse
  readonly #controller = new AbortController()
  readonly #headers: readonly string[]
  #streaming = false
  #silent = false

  /** `headers` are name and value in turn, for the answer's head; `onClose` runs when it is sent or the caller is gone. */
  constructor(raw: ServerResponse, headers: readonly string[], onClose: () => void) {
    this.#raw = raw
    this.#headers = headers
    raw.on('close', () => {
      onClose()
      if (!raw.writableFinished) this.abort(new Fault('cancelled', 'The caller went away.'))
    })
  }

  /** Aborts when the caller goes away or cancels. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  abort(reason: Fault): void {
    this.#controller.abort(reason)
  }

  /** The caller said that it no longer wants the answer: it gets none. */
  cancel(): void {
    this.#silent = true
    this.abort(new Fault('cancelled', 'The caller cancelled the request.'))
  }

  /** Sends a notification ahead of the answer, which turns the answer into an event stream. */
  notify(notification: { method: string; params?: JsonObject; id?: JsonValue }): void {
    const raw = this.#raw
    if (raw.writableEnded || raw.destroyed || this.#silent) return
    if (!this.#streaming) {
      this.#streaming = true
      raw.writeHead(200, [...STREAM_HEAD, ...this.#headers])
    }
    if (raw.writableLength > MAX_UNSENT_BYTES) return
    raw.write(frame(JSON.stringify({ jsonrpc: '2.0', ...notification })))
  }

  /** Shows on a stream that nothing has been told on for a while that it is alive. */
  beat(): void {
    if (this.#streaming && !this.#raw.writableEnded) this.#raw.write(HEARTBEAT)
  }

  /** Sends the answer, JSON text on one line or more; no text is an empty answer. */
  end(status: number, text: string | undefined): void {
    const raw = this.#raw
    if (raw.writableEnded || raw.destroyed) return
    if (this.#streaming) raw.end(this.#silent || text === undefined ? undefined : frame(text))
    else if (this.#silent) writeText(raw, 202, undefined)
    else writeText(raw, status, text, this.#headers)
  }
}

/** One message as an event. Line breaks stand only between JSON's tokens, where a space does as well. */
export function frame(text: string): string {
  const line = text.includes('\n') || text.includes('\r') ? text.replaceAll(/[\r\n]/g, ' ') : text
  return `event: message\ndata: ${line}\n\n`
}

/** A whole answer in one write. */
export function writeText(
  raw: ServerResponse,
  status: number,
  text: string | undefined,
  headers: readonly string[] = [],
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
