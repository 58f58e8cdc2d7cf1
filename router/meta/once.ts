/** What is made once and kept for as long as the object that it is made of: of a catalog, of what one server offers. */

/** The value of `make` the first time that it is asked for by this owner and name, and the same ever after. */
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
