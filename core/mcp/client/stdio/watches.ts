/** The resources of one server that are watched: each is taken on once for all who watch it, and given up with the last. */

import { waitFor } from '../../../deadline.ts'
import { Fault } from '../../../errors.ts'
import type { McpResponse, Notification } from '../../protocol/json-rpc.ts'
import { RESOURCE_UPDATED } from '../../protocol/message.ts'
import { covers, MAX_WATCHED, readUpdate } from '../../protocol/resource-update.ts'
import type { Subscription } from '../../upstream.ts'

/** Asks a server to tell of a resource until the signal aborts; resolves with its answer. */
export type Watching = (uri: string, signal: AbortSignal) => Promise<McpResponse>

type Watch = {
  listeners: Set<Subscription['onUpdate']>
  taken: Promise<McpResponse>
  end: AbortController
}

export class Watches {
  readonly #watches = new Map<string, Watch>()

  /** How many resources are watched. */
  get size(): number {
    return this.#watches.size
  }

  /** Tells of a resource until `signal` aborts; an error that the server answers is an answer, and ends it. */
  async add(
    { uri, onUpdate }: Pick<Subscription, 'uri' | 'onUpdate'>,
    watching: Watching,
    signal: AbortSignal,
  ): Promise<McpResponse> {
    const known = this.#watches.get(uri)
    if (!known && this.#watches.size >= MAX_WATCHED)
      throw new Fault('upstream_busy', `${MAX_WATCHED} resources of the server are watched already`)
    const watch = known ?? this.#begin(uri, watching)
    // Of one's own: the same function may be given twice.
    const listener = (notification: Notification) => onUpdate(notification)
    watch.listeners.add(listener)
    const leave = () => {
      watch.listeners.delete(listener)
      if (watch.listeners.size === 0) this.#drop(uri, watch)
    }
    signal.addEventListener('abort', leave, { once: true })
    try {
      const answer = await waitFor(watch.taken, signal)
      if (answer.error) leave()
      return answer
    } catch (error) {
      leave()
      throw error
    }
  }

  /** Asks a server that was started anew for all of them again. Changes may have been missed: every resource may be another one. */
  renew(watching: Watching): void {
    for (const [uri, watch] of this.#watches) {
      watch.end = new AbortController()
      watching(uri, watch.end.signal).catch(() => {})
      for (const listener of [...watch.listeners]) listener({ method: RESOURCE_UPDATED, params: { uri } })
    }
  }

  /** Hands on an update. */
  heard(notification: Notification): void {
    const update = readUpdate(notification)
    if (!update) return
    for (const [watched, { listeners }] of this.#watches)
      if (covers(watched, update.uri)) for (const listener of [...listeners]) listener(update.told)
  }

  #begin(uri: string, watching: Watching): Watch {
    const end = new AbortController()
    const taken = watching(uri, end.signal)
    taken.catch(() => {})
    const watch: Watch = { listeners: new Set(), taken, end }
    this.#watches.set(uri, watch)
    return watch
  }

  #drop(uri: string, watch: Watch): void {
    if (this.#watches.get(uri) === watch) this.#watches.delete(uri)
    watch.end.abort()
  }
}
