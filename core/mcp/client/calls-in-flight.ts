/** The calls of a session that wait for their answers. */
import { type Placed, PlacedList } from '../../placed-list.ts'
import type { UpstreamCall } from '../upstream.ts'

/** The calls in flight, by id. A Map implements it too, for transports where speed does not matter. */
export type Calls = {
  readonly size: number
  get(id: number): UpstreamCall | undefined
  /** The latest last. */
  values(): Iterable<UpstreamCall>
}

/** A call with its id. */
export type Listed = Placed & { readonly id: number; readonly call: UpstreamCall }

export class CallsInFlight<Item extends Listed = Listed> extends PlacedList<Item> implements Calls {
  withId(id: number): Item | undefined {
    return this.find(listed => listed.id === id)
  }

  get(id: number): UpstreamCall | undefined {
    return this.withId(id)?.call
  }

  values(): UpstreamCall[] {
    return this.toArray()
      .sort((one, other) => one.id - other.id)
      .map(({ call }) => call)
  }
}
