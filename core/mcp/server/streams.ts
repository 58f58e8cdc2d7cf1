/** The event streams that clients keep open by GET, for notifications and questions between their requests. */
import type { ServerResponse } from 'node:http'
import type { JsonObject, JsonValue } from '../../json.ts'
import type { Notification } from '../protocol/json-rpc.ts'
import type { Heartbeats } from './heartbeats.ts'
import { frame, HEARTBEAT, STREAM_HEAD, whenClosed } from './post-response.ts'
import { shareOf } from './shares.ts'

/** The client and route of a stream. */
export type StreamOwner = {
  /** The id of the caller's identity. */
  caller: string
  /** Absent if there are no sessions. */
  client?: string
  /** The route at which it was opened. */
  place: string
  /** The client's declared capabilities that questions need. */
  capabilities?: JsonObject
}

export type Stream = StreamOwner & {
  /** Sends a notification or a request; false if the stream is closed. */
  send(message: Notification & { id?: JsonValue }): boolean
  end(): void
  /** Aborts when either side closes the stream. */
  readonly closed: AbortSignal
}

export const MAX_STREAMS = 4_096
const MAX_STREAMS_PER_CLIENT = 4
/** A client that leaves more than this unread is disconnected; it may reconnect. */
const MAX_UNSENT_BYTES = 256 * 1024

export class Streams {
  readonly #heartbeats: Heartbeats
  readonly #limit: number
  readonly #distinguishesCallers: () => boolean
  readonly #all = new Set<Stream>()
  /** Oldest first. */
  readonly #ofClient = new Map<string, Stream[]>()
  /** Number of streams of each caller, including those that are reserved by `reserve`. */
  readonly #ofCaller = new Map<string, number>()
  /** Number of streams that are reserved by `reserve`. */
  #reserved = 0

  constructor(
    heartbeats: Heartbeats,
    limit: number = MAX_STREAMS,
    distinguishesCallers: () => boolean = () => false,
  ) {
    this.#heartbeats = heartbeats
    this.#limit = limit
    this.#distinguishesCallers = distinguishesCallers
  }

  get size(): number {
    return this.#all.size
  }

  /** Why a caller cannot open another stream; undefined if it can. */
  refusal(caller: string): string | undefined {
    if (this.#all.size + this.#reserved >= this.#limit) return 'All event streams are in use'
    if (!this.#distinguishesCallers()) return undefined
    const most = shareOf(caller, this.#limit)
    if ((this.#ofCaller.get(caller) ?? 0) < most) return undefined
    const who = caller === '' ? 'Callers without a credential have' : 'This caller has'
    return `${who} ${most} event streams open, the most at once: close some`
  }

  /** Counts a `subscriptions/listen` stream until the returned function is called. */
  reserve(caller: string): () => void {
    this.#reserved++
    this.#count(caller, 1)
    return () => {
      this.#reserved--
      this.#count(caller, -1)
    }
  }

  /** Answers with an event stream. Ends a client's oldest stream if it opens too many. */
  open(raw: ServerResponse, owner: StreamOwner): Stream {
    raw.writeHead(200, [...STREAM_HEAD])
    raw.write(HEARTBEAT)
    const stopBeating = this.#heartbeats.add(() => write(raw, () => HEARTBEAT))
    const closing = new AbortController()
    const stream: Stream = {
      ...owner,
      closed: closing.signal,
      send: message => write(raw, () => frame(JSON.stringify({ jsonrpc: '2.0', ...message }))),
      end: () => {
        raw.end()
        close()
      },
    }
    const close = () => {
      if (closing.signal.aborted) return
      stopBeating()
      this.#forget(stream)
      closing.abort()
    }
    whenClosed(raw, close)
    this.#add(stream)
    return stream
  }

  /** The stream that a client opened last, or last at the route `place`. Each message is sent on this one only. */
  newest(client: string, place?: string): Stream | undefined {
    const streams = this.#ofClient.get(client)
    return place === undefined ? streams?.at(-1) : streams?.findLast(stream => stream.place === place)
  }

  /** Ends the streams of one client. */
  end(client: string): void {
    for (const stream of [...(this.#ofClient.get(client) ?? [])]) stream.end()
  }

  endAll(): void {
    for (const stream of [...this.#all]) stream.end()
  }

  #count(caller: string, more: 1 | -1): void {
    const left = (this.#ofCaller.get(caller) ?? 0) + more
    if (left > 0) this.#ofCaller.set(caller, left)
    else this.#ofCaller.delete(caller)
  }

  #add(stream: Stream): void {
    this.#all.add(stream)
    this.#count(stream.caller, 1)
    if (stream.client === undefined) return
    const streams = this.#ofClient.get(stream.client) ?? []
    streams.push(stream)
    this.#ofClient.set(stream.client, streams)
    if (streams.length > MAX_STREAMS_PER_CLIENT) streams[0]?.end()
  }

  #forget(stream: Stream): void {
    this.#all.delete(stream)
    this.#count(stream.caller, -1)
    if (stream.client === undefined) return
    const left = (this.#ofClient.get(stream.client) ?? []).filter(other => other !== stream)
    if (left.length > 0) this.#ofClient.set(stream.client, left)
    else this.#ofClient.delete(stream.client)
  }
}

/** Cuts off a client that does not read: for it, `textOf` is not called, since an update may be large, and go to many subscriptions. */
function write(raw: ServerResponse, textOf: () => string): boolean {
  if (raw.writableLength > MAX_UNSENT_BYTES) raw.destroy()
  if (raw.writableEnded || raw.destroyed) return false
  raw.write(textOf())
  return true
}
