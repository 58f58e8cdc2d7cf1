/** Those who listen between calls, on a stream of their own: what a child says by itself is told to them. */
import type { ServerResponse } from 'node:http'
import type { Clock, Timer } from '../core/async.ts'
import { frame, HEARTBEAT, STREAM_HEAD } from '../core/mcp/front/exchange.ts'
import type { Listening } from '../core/mcp/front/handler.ts'
import type { Asked } from '../core/mcp/stdio/session.ts'
import type { Notification } from '../core/mcp/upstream.ts'

export const MAX_STREAMS = 64
/** So often a sign of life, so that nothing on the way takes a silent stream for dead. */
export const HEARTBEAT_MS = 15_000
/** A reader that leaves more than this unread is cut off; it may listen again. */
const MAX_UNSENT_BYTES = 256 * 1024

type Listener = {
  client: string | undefined
  tell(notification: Notification): void
  beat(): void
  end(): void
}

export class Streams {
  readonly #clock: Clock
  readonly #listeners = new Set<Listener>()
  #heartbeat: Timer | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** No more can listen. */
  get full(): boolean {
    return this.#listeners.size >= MAX_STREAMS
  }

  /** Answers a GET with an event stream, for what concerns this client. */
  open(raw: ServerResponse, client: string | undefined): void {
    const write = (text: string) => {
      if (raw.writableLength > MAX_UNSENT_BYTES) raw.destroy()
      else raw.write(text)
    }
    raw.writeHead(200, [...STREAM_HEAD])
    raw.write(HEARTBEAT)
    const listener = {
      client,
      tell: (notification: Notification) => write(frame(JSON.stringify({ jsonrpc: '2.0', ...notification }))),
      beat: () => write(HEARTBEAT),
      end: () => raw.end(),
    }
    this.#add(listener)
    raw.once('close', () => this.#listeners.delete(listener))
  }

  /** Serves one who listens by a call, and resolves at the end of that. */
  listen({ tell, beat, signal }: Listening): Promise<void> {
    if (this.full || signal.aborted) return Promise.resolve()
    return new Promise(resolve => {
      const end = () => {
        this.#listeners.delete(listener)
        signal.removeEventListener('abort', end)
        resolve()
      }
      const listener = { client: undefined, tell, beat, end }
      this.#add(listener)
      signal.addEventListener('abort', end)
    })
  }

  tell(notification: Notification, concerns: (client: string | undefined) => boolean): void {
    for (const listener of this.#listeners) if (concerns(listener.client)) listener.tell(notification)
  }

  /** Sends a request to one client; false where it does not listen. */
  ask(request: Asked, client: string): boolean {
    const listener = [...this.#listeners].find(other => other.client === client)
    listener?.tell(request)
    return listener !== undefined
  }

  /** Ends the streams of one client. */
  end(client: string): void {
    for (const listener of this.#listeners) if (listener.client === client) listener.end()
  }

  endAll(): void {
    this.#heartbeat?.cancel()
    for (const listener of [...this.#listeners]) listener.end()
  }

  #add(listener: Listener): void {
    this.#listeners.add(listener)
    this.#heartbeat ??= this.#beatLater()
  }

  #beatLater(): Timer {
    return this.#clock.after(HEARTBEAT_MS, () => {
      for (const listener of this.#listeners) listener.beat()
      this.#heartbeat = this.#listeners.size > 0 ? this.#beatLater() : undefined
    })
  }
}
