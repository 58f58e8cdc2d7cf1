/** Follows the event streams of routers, so that the operator learns within milliseconds, and not at the next poll, that a call waits for a server. */
import { request } from 'undici'
import { type Clock, delay } from '../../core/async.ts'
import { backoffMs } from '../../core/backoff.ts'
import { adminUrl } from './router-report.ts'

const RETRY = { firstMs: 500, longestMs: 30_000 }
/** Routers send something at least every 15 s. A stream that is silent for longer is treated as broken. */
export const SILENCE_MS = 20_000
/** A comment or an empty line, which only keeps the stream alive. Anything else, even part of an event, means that the status has changed. */
const HEARTBEAT = /^[:\s]*$/
const CONTENT_TYPE = 'text/event-stream'

export type RouterEventsOptions = { clock: Clock; random: () => number }

type Stream = { stop: AbortController; isOpen: boolean }

export class RouterEvents {
  readonly #options: RouterEventsOptions
  readonly #streams = new Map<string, Stream>()

  constructor(options: RouterEventsOptions) {
    this.#options = options
  }

  /** Follows the routers of a gateway at these addresses and no others; calls `onEvent` for each event, and when a stream has ended. */
  follow(gateway: string, addresses: readonly string[], onEvent: (address: string) => void): void {
    const wanted = new Map(addresses.map(address => [keyOf(gateway, address), address]))
    for (const [key, { stop }] of this.#streams) {
      if (!key.startsWith(`${gateway} `) || wanted.has(key)) continue
      stop.abort()
      this.#streams.delete(key)
    }
    for (const [key, address] of wanted) {
      if (this.#streams.has(key)) continue
      const stream = { stop: new AbortController(), isOpen: false }
      this.#streams.set(key, stream)
      void this.#readRepeatedly(address, stream, () => onEvent(address))
    }
  }

  /** Whether the streams of all these routers are open. */
  isFollowing(gateway: string, addresses: readonly string[]): boolean {
    return addresses.every(address => this.#streams.get(keyOf(gateway, address))?.isOpen)
  }

  close(): void {
    for (const { stop } of this.#streams.values()) stop.abort()
    this.#streams.clear()
  }

  /** Reads the stream of a router, over a new connection whenever it has ended. */
  async #readRepeatedly(address: string, stream: Stream, onEvent: () => void): Promise<void> {
    const { clock, random } = this.#options
    const { signal } = stream.stop
    for (let failures = 0; !signal.aborted; failures++) {
      if (await this.#listen(address, stream, onEvent)) failures = 0
      await delay(clock, backoffMs(RETRY, failures, random), signal).catch(() => {})
    }
  }

  /** Reads one stream until it ends or falls silent. Returns whether there was one. Never rejects. */
  async #listen(address: string, stream: Stream, onEvent: () => void): Promise<boolean> {
    const { clock } = this.#options
    const silent = new AbortController()
    const startTimer = () => clock.after(SILENCE_MS, () => silent.abort())
    let timer = startTimer()
    let wasOpen = false
    try {
      const body = await open(address, AbortSignal.any([stream.stop.signal, silent.signal]))
      wasOpen = body !== undefined
      stream.isOpen = wasOpen
      for await (const chunk of body ?? []) {
        timer.cancel()
        timer = startTimer()
        if (!HEARTBEAT.test(String(chunk))) onEvent()
      }
    } catch {
      // The router is gone.
    }
    timer.cancel()
    stream.isOpen = false
    if (wasOpen && !stream.stop.signal.aborted) onEvent()
    return wasOpen
  }
}

/** Opens the stream. Undefined if the router has none, because its version differs, or admits no further one. */
async function open(address: string, signal: AbortSignal): Promise<AsyncIterable<unknown> | undefined> {
  const url = `${adminUrl(address)}/events`
  const { statusCode, headers, body } = await request(url, { signal, bodyTimeout: 0 })
  if (statusCode === 200 && String(headers['content-type']).startsWith(CONTENT_TYPE)) return body
  await body.dump()
  return undefined
}

function keyOf(gateway: string, address: string): string {
  return `${gateway} ${address}`
}
