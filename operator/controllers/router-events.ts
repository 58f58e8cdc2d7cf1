/** Follows the event streams of routers, so that the operator learns within milliseconds, not at the next poll, which servers calls wait for. */
import { request } from 'undici'
import { type Clock, delay } from '../../core/async.ts'
import { backoffMs } from '../../core/backoff.ts'
import { adminUrl } from './router-report.ts'

const RETRY = { firstMs: 500, longestMs: 30_000 }
/** Routers send something at least every 15 s. */
const SILENCE_MS = 45_000
/** An event only says that something has changed; the status is then read. */
const EVENT = 'event: waiting'

export type RouterEventsOptions = { clock: Clock; random: () => number }

export class RouterEvents {
  readonly #options: RouterEventsOptions
  readonly #streams = new Map<string, AbortController>()

  constructor(options: RouterEventsOptions) {
    this.#options = options
  }

  /** Follows the routers of a gateway at these addresses and no others; calls `onEvent` for each event. */
  follow(gateway: string, addresses: readonly string[], onEvent: () => void): void {
    const wanted = new Map(addresses.map(address => [`${gateway} ${address}`, address]))
    for (const [key, stop] of this.#streams) {
      if (!key.startsWith(`${gateway} `) || wanted.has(key)) continue
      stop.abort()
      this.#streams.delete(key)
    }
    for (const [key, address] of wanted) {
      if (this.#streams.has(key)) continue
      const stop = new AbortController()
      this.#streams.set(key, stop)
      void this.#keep(address, onEvent, stop.signal)
    }
  }

  close(): void {
    for (const stop of this.#streams.values()) stop.abort()
    this.#streams.clear()
  }

  async #keep(address: string, onEvent: () => void, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options
    for (let failures = 0; !signal.aborted; failures++) {
      if (await listen(address, onEvent, signal)) failures = 0
      await delay(clock, backoffMs(RETRY, failures, random), signal).catch(() => {})
    }
  }
}

/** Until the stream ends; true if there was one. Never rejects. */
async function listen(address: string, onEvent: () => void, signal: AbortSignal): Promise<boolean> {
  let isOpen = false
  try {
    const { statusCode, body } = await request(`${adminUrl(address)}/events`, {
      signal,
      headersTimeout: SILENCE_MS,
      bodyTimeout: SILENCE_MS,
    })
    isOpen = statusCode === 200
    for await (const chunk of body) if (isOpen && String(chunk).includes(EVENT)) onEvent()
  } catch {
    // The router has gone, or is one of another version.
  }
  return isOpen
}
