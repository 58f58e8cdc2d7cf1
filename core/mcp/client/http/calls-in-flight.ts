/**
 * The calls of a session that wait for their answers. No Map: whenever V8 makes a Map's table anew the old one goes on naming the calls
 * of that moment, and where it is old enough they, and all that they name, outlive their time: a call then costs half as much again.
 */
import type { UpstreamCall } from '../../upstream.ts'

/** Of a Map too, where speed does not matter. */
export type Calls = {
  readonly size: number
  get(id: number): UpstreamCall | undefined
  /** The latest last. */
  values(): Iterable<UpstreamCall>
}

/** A call under its id; `place` is for the list that it is in. */
export type Listed = { readonly id: number; readonly call: UpstreamCall; place: number }

export class CallsInFlight implements Calls {
  /** In no order; each knows its place. */
  readonly #listed: Listed[] = []

  get size(): number {
    return this.#listed.length
  }

  add(listed: Listed): void {
    listed.place = this.#listed.length
    this.#listed.push(listed)
  }

  /** The last one takes the place of the one that goes. */
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
