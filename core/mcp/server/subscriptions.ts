/** Resources that clients of the 2025 era subscribed to, until they unsubscribe, or their sessions end, or they are gone. */

import type { Clock } from '../../async.ts'
import type { JsonObject } from '../../json.ts'
import { INTERNAL_ERROR } from '../protocol/error-codes.ts'
import type { McpResponse, Notification } from '../protocol/json-rpc.ts'
import type { McpHandler, McpRoute } from './handler.ts'

export type Subscriber = { route: McpRoute; client: string; capabilities?: JsonObject }

type Entry = { stop: AbortController; taken: Promise<McpResponse> }

const MAX_URIS_A_CLIENT = 1_000
const MAX_CLIENTS = 4_096
/** A client that has no stream to be told on at two looks in a row is gone: few end their sessions. */
export const LOOK_EVERY_MS = 5 * 60_000

export class Subscriptions {
  readonly #clock: Clock
  /** Whether a client has a stream. */
  readonly #isThere: (client: string) => boolean
  /** By client, then by route and URI. */
  readonly #clients = new Map<string, Map<string, Entry>>()
  #isLooking = false
  /** Those who were not there at the last look. */
  #missed: ReadonlySet<string> = new Set()

  constructor(clock: Clock, isThere: (client: string) => boolean) {
    this.#clock = clock
    this.#isThere = isThere
  }

  /** Clients that have any. */
  get size(): number {
    return this.#clients.size
  }

  /** Resolves once the handler took it on, or refused; a second subscription to the same is the first one. */
  async subscribe(
    handler: McpHandler,
    { route, client, capabilities }: Subscriber,
    uri: string,
    tell: (notification: Notification) => void,
  ): Promise<McpResponse> {
    const entries = this.#entriesOf(client)
    const key = keyOf(route, uri)
    const known = entries.get(key)
    if (known) return known.taken
    if (entries.size >= MAX_URIS_A_CLIENT) return tooMany()
    const stop = new AbortController()
    const { signal } = stop
    const taken =
      handler.subscribe?.({ route, uri, client, capabilities, signal, tell }) ?? Promise.resolve(none())
    const entry = { stop, taken }
    entries.set(key, entry)
    try {
      const reply = await taken
      if (reply.error) this.#remove(client, key, entry)
      return reply
    } catch (error) {
      this.#remove(client, key, entry)
      throw error
    }
  }

  /** Nothing happens where there is no such subscription. */
  unsubscribe(client: string, route: McpRoute, uri: string): void {
    const key = keyOf(route, uri)
    const entry = this.#clients.get(client)?.get(key)
    if (entry) this.#remove(client, key, entry)
  }

  /** Ends the subscriptions of one client. */
  end(client: string): void {
    const entries = this.#clients.get(client)
    this.#clients.delete(client)
    for (const { stop } of entries?.values() ?? []) stop.abort()
  }

  endAll(): void {
    for (const client of [...this.#clients.keys()]) this.end(client)
  }

  /** Beyond 4,096 clients the oldest loses its subscriptions: it may be long gone. */
  #entriesOf(client: string): Map<string, Entry> {
    const known = this.#clients.get(client)
    if (known) return known
    if (this.#clients.size >= MAX_CLIENTS) this.end(this.#clients.keys().next().value as string)
    const entries = new Map<string, Entry>()
    this.#clients.set(client, entries)
    if (!this.#isLooking) this.#lookLater()
    return entries
  }

  #lookLater(): void {
    this.#isLooking = true
    this.#clock.after(LOOK_EVERY_MS, () => {
      const missed = [...this.#clients.keys()].filter(client => !this.#isThere(client))
      for (const client of missed) if (this.#missed.has(client)) this.end(client)
      this.#missed = new Set(missed)
      this.#isLooking = false
      if (this.#clients.size > 0) this.#lookLater()
    })
  }

  #remove(client: string, key: string, entry: Entry): void {
    entry.stop.abort()
    const entries = this.#clients.get(client)
    if (entries?.get(key) === entry) entries.delete(key)
    if (entries?.size === 0) this.#clients.delete(client)
  }
}

function keyOf(route: McpRoute, uri: string): string {
  return `${route.kind === 'server' ? `server ${route.server}` : route.profile} ${uri}`
}

function tooMany(): McpResponse {
  const message = `A client can subscribe to ${MAX_URIS_A_CLIENT} resources at most; unsubscribe from some first`
  return { error: { code: INTERNAL_ERROR, message } }
}

function none(): McpResponse {
  return { error: { code: INTERNAL_ERROR, message: 'Nothing can be subscribed to here' } }
}
