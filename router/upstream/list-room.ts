/** Limits for the lists of all users of a router together: concurrent readings, number and size. */
import type { Clock } from '../../core/async.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { createSlots, type Slots } from './slots.ts'

/** Concurrent readings of one server. A server that does not answer delays no other. Reading takes about ten times a list's size in memory. */
const MAX_READINGS = 4
const MAX_LISTS = 1_000
/** Characters of JSON of one user's lists at one server, and of all lists. */
const MAX_LIST_CHARACTERS = 4 * 1024 * 1024
const MAX_CHARACTERS = 64 * 1024 * 1024
const TELL_EVERY_MS = 60_000

export type ListRoomOptions = {
  clock: Clock
  /** Called when lists of a user cannot be kept, at most once a minute. */
  onFull: (server: string) => void
  /** For tests. */
  mostCharacters?: number
}

export class ListRoom {
  readonly #options: ListRoomOptions
  /** By server, while its lists are read. */
  readonly #slots = new Map<string, Slots>()
  readonly #sizes = new Map<object, number>()
  #used = 0
  #toldMs = Number.NEGATIVE_INFINITY

  constructor(options: ListRoomOptions) {
    this.#options = options
  }

  /** Calls `read` once a slot is free. Throws Faults `upstream_busy` and `cancelled`, and what `read` throws. */
  async turn<T>(server: string, read: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const slots = this.#slots.get(server) ?? createSlots(this.#options.clock)
    this.#slots.set(server, slots)
    await slots.acquire(MAX_READINGS, signal)
    try {
      return await read()
    } finally {
      slots.release(MAX_READINGS)
      if (slots.active() === 0) this.#slots.delete(server)
    }
  }

  /** Reserves room for an owner's lists; false if there is none. The owner's previous reservation is released in any case. */
  take(owner: object, lists: ServerCatalog): boolean {
    this.free(owner)
    const size = JSON.stringify(lists).length
    const { mostCharacters = MAX_CHARACTERS } = this.#options
    const fits =
      size <= MAX_LIST_CHARACTERS && this.#sizes.size < MAX_LISTS && this.#used + size <= mostCharacters
    if (fits) this.#sizes.set(owner, size)
    else this.#tellFull(lists.server)
    if (fits) this.#used += size
    return fits
  }

  /** Releases the owner's reservation, if there is one. */
  free(owner: object): void {
    this.#used -= this.#sizes.get(owner) ?? 0
    this.#sizes.delete(owner)
  }

  #tellFull(server: string): void {
    const { clock, onFull } = this.#options
    if (clock.elapsed() - this.#toldMs < TELL_EVERY_MS) return
    this.#toldMs = clock.elapsed()
    onFull(server)
  }
}
