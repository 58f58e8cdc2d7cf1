/** A cache (LRU) bounded by the total size of its values. */

export type SizedCache<V> = {
  get(key: string): V | undefined
  set(key: string, value: V): void
}

/** `maxSize`: the total size of the values, in the unit of `sizeOf`. The newest value stays even if it is larger. */
export function createSizedCache<V>(maxSize: number, sizeOf: (value: V) => number): SizedCache<V> {
  const known = new Map<string, { value: V; size: number }>()
  let used = 0
  const drop = (key: string): void => {
    used -= known.get(key)?.size ?? 0
    known.delete(key)
  }
  return {
    get(key) {
      const found = known.get(key)
      if (found === undefined) return undefined
      known.delete(key)
      known.set(key, found)
      return found.value
    },
    set(key, value) {
      drop(key)
      const size = sizeOf(value)
      known.set(key, { value, size })
      used += size
      for (const oldest of known.keys()) {
        if (used <= maxSize || known.size === 1) return
        drop(oldest)
      }
    },
  }
}
