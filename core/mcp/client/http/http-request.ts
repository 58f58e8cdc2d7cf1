/** One HTTP request through an undici pool: collects a plain body up to a limit, or passes on the events of a stream. */
import { TextDecoder } from 'node:util'
import { createParser, type EventSourceMessage, type EventSourceParser } from 'eventsource-parser'
import type { Dispatcher } from 'undici'
import type { Clock, Timer } from '../../../async.ts'
import { Chunks } from '../../../chunks.ts'
import { faultOf } from '../../../deadline.ts'
import { Fault } from '../../../errors.ts'
import { type AnswerRoom, SMALL_ANSWER_BYTES } from '../../answer-room.ts'
import { connectionFault, noRoom, tooLarge } from './faults.ts'

/** How much a server may send on an event stream after the answer, before the connection is dropped. */
const MAX_TRAILING_BYTES = 64 * 1024
/** How long a server may keep a stream open after the answer. */
const TRAILING_MS = 1_000

export type HttpRequest = {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  headers: Record<string, string>
  body?: string
  /** The largest plain body, or the largest event of a stream, in bytes. */
  maxBytes: number
  /** Receives the events if the response is a stream; absent: a stream is read like any other body. */
  events?: EventSink
}

export interface EventSink {
  /** Returns `done` if no more events are needed. */
  onEvent(event: EventSourceMessage): 'done' | undefined
  /** The reconnection time that the stream sets (its `retry` field), in milliseconds. */
  onRetry?(ms: number): void
  /** The response is an event stream; called before its first event. `path`: the one requested, after redirects. */
  onStream?(path: string): void
  /** The current limit of an event in bytes, if it changes while the stream is open; at most `maxBytes`. */
  limit?(): number
}

export type HttpResponse = {
  status: number
  headers: Record<string, string | string[] | undefined>
  /** The body; empty if it was an event stream. */
  text: string
  /** The body was an event stream and went to `events`. */
  streamed: boolean
}

/** `room`: absent: the answers that are received at once are not bounded together. */
export type Connections = { pool: Dispatcher; clock: Clock; room?: AnswerRoom }

/**
 * Resolves with any HTTP status. Throws Fault upstream_unreachable (no connection), upstream_died (it broke),
 * upstream_too_large, or the Fault of `signal`; the connection is dropped in all these cases.
 */
export function sendHttpRequest(
  connections: Connections,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<HttpResponse> {
  if (signal.aborted) return Promise.reject(faultOf(signal))
  return new Promise((resolve, reject) => {
    const { method, path, headers, body } = request
    const handler = new ResponseHandler(request, connections, signal, resolve, reject)
    connections.pool.dispatch({ method, path, headers, body }, handler)
  })
}

/** A class rather than closures, because every call creates one. */
class ResponseHandler implements Dispatcher.DispatchHandler {
  readonly #request: HttpRequest
  readonly #connections: Connections
  readonly #signal: AbortSignal
  readonly #resolve: (reply: HttpResponse) => void
  readonly #reject: (fault: Fault) => void
  #controller: Dispatcher.DispatchController | undefined
  #reply: HttpResponse = { status: 0, headers: {}, text: '', streamed: false }
  readonly #chunks = new Chunks()
  /** Bytes of the body. After a stream has delivered the answer: only of what follows the answer. */
  #bytes = 0
  #parser: EventSourceParser | undefined
  /** Bytes of the stream since its last event or comment. */
  #pending = 0
  /** Bytes that are taken from the room for answers. */
  #taken = 0
  #decoder: TextDecoder | undefined
  #done = false
  /** Runs from the answer until the server ends the stream. */
  #trailing: Timer | undefined

  constructor(
    request: HttpRequest,
    connections: Connections,
    signal: AbortSignal,
    resolve: (reply: HttpResponse) => void,
    reject: (fault: Fault) => void,
  ) {
    this.#request = request
    this.#connections = connections
    this.#signal = signal
    this.#resolve = resolve
    this.#reject = reject
    signal.addEventListener('abort', this.#abort)
  }

  readonly #abort = () => this.#fail(faultOf(this.#signal))

  #fail(fault: Fault) {
    this.#settle()
    this.#reject(fault)
    this.#controller?.abort(fault)
  }

  #settle() {
    this.#done = true
    this.#chunks.clear()
    this.#freeRoom()
    this.#signal.removeEventListener('abort', this.#abort)
  }

  onRequestStart(controller: Dispatcher.DispatchController) {
    this.#controller = controller
    if (this.#done) controller.abort(faultOf(this.#signal))
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: HttpResponse['headers'],
  ) {
    if (status < 200) return
    this.#reply.status = status
    this.#reply.headers = headers
    const { events } = this.#request
    if (!events || status !== 200 || !String(headers['content-type']).startsWith('text/event-stream')) return
    this.#reply.streamed = true
    events.onStream?.(this.#request.path)
    this.#decoder = new TextDecoder()
    this.#parser = createParser({
      onEvent: event => this.#event(event, events),
      onRetry: ms => events.onRetry?.(ms),
      onComment: events.limit && (() => this.#beginEvent()),
      onError: ({ type }) => {
        if (type === 'max-buffer-size-exceeded') this.#tooLarge()
      },
      maxBufferSize: this.#request.maxBytes,
    })
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer) {
    this.#bytes += chunk.length
    if (this.#done) {
      if (this.#bytes > MAX_TRAILING_BYTES) this.#dropConnection()
    } else if (this.#parser) {
      this.#feed(this.#parser, chunk)
    } else if (this.#bytes > this.#request.maxBytes) {
      this.#tooLarge()
    } else if (!this.#hasRoom(this.#bytes)) {
      this.#fail(noRoom())
    } else {
      this.#chunks.add(chunk)
    }
  }

  #tooLarge() {
    this.#fail(tooLarge(this.#request.maxBytes))
  }

  #feed(parser: EventSourceParser, chunk: Buffer) {
    this.#pending += chunk.length
    const limit = this.#request.events?.limit?.()
    if (limit !== undefined && this.#pending > limit) return this.#fail(tooLarge(limit))
    if (!this.#hasRoom(this.#pending)) return this.#fail(noRoom())
    try {
      parser.feed(this.#decoder?.decode(chunk, { stream: true }) ?? '')
    } catch (error) {
      this.#fail(
        error instanceof Fault
          ? error
          : new Fault('upstream_protocol', 'The event stream cannot be parsed', { cause: error }),
      )
    }
  }

  #event(event: EventSourceMessage, events: EventSink) {
    this.#beginEvent()
    if (this.#done) return
    if (Buffer.byteLength(event.data) > this.#request.maxBytes) return this.#tooLarge()
    if (events.onEvent(event) !== 'done') return
    this.#bytes = 0
    this.#trailing = this.#connections.clock.after(TRAILING_MS, () => this.#dropConnection())
    this.#settle()
    this.#resolve(this.#reply)
  }

  #beginEvent() {
    this.#pending = 0
    this.#freeRoom()
  }

  /** `bytes`: the size of the answer or event so far. */
  #hasRoom(bytes: number): boolean {
    const { room } = this.#connections
    if (!room || bytes <= SMALL_ANSWER_BYTES) return true
    const fits = room.take(bytes - this.#taken)
    if (fits) this.#taken = bytes
    return fits
  }

  #freeRoom() {
    this.#connections.room?.free(this.#taken)
    this.#taken = 0
  }

  #dropConnection() {
    this.#controller?.abort(new Fault('upstream_protocol', 'The stream continues after the answer'))
  }

  onResponseEnd() {
    this.#trailing?.cancel()
    if (this.#done) return
    this.#reply.text = this.#chunks.text()
    this.#settle()
    this.#resolve(this.#reply)
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error) {
    this.#trailing?.cancel()
    if (this.#done) return
    this.#settle()
    this.#reject(connectionFault(error))
  }
}
