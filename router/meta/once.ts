/** Caches values by the object they are computed from (such as a catalog); they are garbage-collected with it. */

/** Returns the value of `make`, which is called only the first time for this owner and name. */
export type Once = <T>(owner: object, name: string, make: () => T) => T

export function createOnce(): Once {
  const kept = new WeakMap<object, Map<string, unknown>>()
  return <T>(owner: object, name: string, make: () => T): T => {
    let values = kept.get(owner)
    if (!values) {
      values = new Map()
      kept.set(owner, values)
    }
    if (!values.has(name)) values.set(name, make())
    return values.get(name) as T
  }
}
