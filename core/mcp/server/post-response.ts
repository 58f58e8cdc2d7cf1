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

type Message = { method: string; params?: JsonObject; id?: JsonValue }

export class PostResponse {
  readonly #raw: ServerResponse
  readonly #controller = new AbortController()
  readonly #headers: readonly string[]
  #streaming = false
  #silent = false
  #outlived = false

  /** `headers` are name and value in turn, for the answer's head; `onClose` runs when it is sent or the caller is gone. */
  constructor(raw: ServerResponse, headers: readonly string[], onClose: () => void) {
    this.#raw = raw
    this.#headers = headers
    whenClosed(raw, () => {
      onClose()
      if (!raw.writableFinished && !this.#outlived)
        this.abort(new Fault('cancelled', 'The caller went away.'))
    })
  }

  /** Aborts when the caller goes away or cancels. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  abort(reason: Fault): void {
    this.#controller.abort(reason)
  }

  /** The call goes on after this response: from now on its signal aborts by `abort` alone. */
  outlive(): void {
    this.#outlived = true
  }

  /** The caller said that it no longer wants the answer: it gets none. */
  cancel(): void {
    this.#silent = true
    this.abort(new Fault('cancelled', 'The caller cancelled the request.'))
  }

  /** Sends a notification ahead of the answer, which turns the answer into an event stream; it is dropped where the reader is slow. */
  notify(notification: Message): void {
    if (this.#raw.writableLength <= MAX_UNSENT_BYTES) this.send(notification)
  }

  /** Sends a message that must not be lost, such as a request; false where the caller is gone. */
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

  /** Shows on a stream that nothing has been told on for a while that it is alive. */
  beat(): void {
    const raw = this.#raw
    if (this.#streaming && !raw.writableEnded && !raw.destroyed) raw.write(HEARTBEAT)
  }

  /** Sends the answer, JSON text on one line or more; no text is an empty answer. */
  end(status: number, text: string | undefined): void {
    const raw = this.#raw
    if (raw.writableEnded || raw.destroyed) return
    if (this.#streaming) raw.end(this.#silent || text === undefined ? undefined : frame(text))
    else if (this.#silent) writeText(raw, 202, undefined)
    else writeText(raw, status, text, this.#headers)
  }

  /** Sends the answers of a batch: as one JSON text, or each as an event where something was told before; none is an empty answer. */
  endBatch(texts: readonly string[]): void {
    const raw = this.#raw
    if (!this.#streaming) this.end(texts.length > 0 ? 200 : 202, texts.length > 0 ? `[${texts}]` : undefined)
    else if (!raw.writableEnded && !raw.destroyed) raw.end(texts.map(frame).join(''))
  }
}

/** Calls `run` when an answer is sent or its caller gone; soon, where that is so already: node:http says it once. */
export function whenClosed(raw: ServerResponse, run: () => void): void {
  if (raw.closed) process.nextTick(run)
  else raw.on('close', run)
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
