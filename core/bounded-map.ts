/** A map that evicts its oldest entries: for values that can be computed again. */

export class BoundedMap<V, K = string> {
  readonly #limit: number
  readonly #entries = new Map<K, V>()

  constructor(limit: number) {
    this.#limit = limit
  }

  get(key: K): V | undefined {
    return this.#entries.get(key)
  }

  has(key: K): boolean {
    return this.#entries.has(key)
  }

  /** Makes the entry the newest: setting it again after each `get` turns the map into an LRU cache. */
  set(key: K, value: V): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size > this.#limit) this.#entries.delete(this.#entries.keys().next().value as K)
  }

  delete(key: K): void {
    this.#entries.delete(key)
  }
}
