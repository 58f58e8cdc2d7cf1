/** A map that forgets its oldest entries: for what is worth remembering and can be found out again. */

export class BoundedMap<T> {
  readonly #limit: number
  readonly #entries = new Map<string, T>()

  constructor(limit: number) {
    this.#limit = limit
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)
  }

  /** The entry is then the youngest. */
  set(key: string, value: T): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    const [oldest] = this.#entries.keys()
    if (this.#entries.size > this.#limit && oldest !== undefined) this.#entries.delete(oldest)
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }
}
