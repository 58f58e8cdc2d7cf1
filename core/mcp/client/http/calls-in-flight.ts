/**
 * The calls of a session that wait for their answers. Not a Map: when V8 rehashes a Map, its old table, once promoted to the old
 * generation, keeps finished calls alive: +50 % CPU a call.
 */
import type { UpstreamCall } from '../../upstream.ts'

/** The calls in flight, by id. A Map implements it too, for transports where speed does not matter. */
export type Calls = {
  readonly size: number
  get(id: number): UpstreamCall | undefined
  /** The latest last. */
  values(): Iterable<UpstreamCall>
}

/** A call with its id; `place` is its index in the list. */
export type Listed = { readonly id: number; readonly call: UpstreamCall; place: number }

export class CallsInFlight implements Calls {
  /** Unordered; each knows its index, so that removal is O(1). */
  readonly #listed: Listed[] = []

  get size(): number {
    return this.#listed.length
  }

  add(listed: Listed): void {
    listed.place = this.#listed.length
    this.#listed.push(listed)
  }

  /** Moves the last call to the index of the removed one. */
  remove(listed: Listed): void {
    const last = this.#listed.pop()
    if (!last || last === listed) return
    last.place = listed.place
    this.#listed[listed.place] = last
  }

  get(id: number): UpstreamCall | undefined {
    return this.#listed.find(listed => listed.id === id)?.call
  }

  values(): UpstreamCall[] {
    return this.#listed.toSorted((one, other) => one.id - other.id).map(({ call }) => call)
  }
}
