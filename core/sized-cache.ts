/** A cache bounded by the size of all its values together: those that were used last stay. */

export type SizedCache<V> = {
  get(key: string): V | undefined
  set(key: string, value: V): void
}

/** `room`: the size of all values together, in the unit of `sizeOf`. The newest value stays however large it is. */
export function createSizedCache<V>(room: number, sizeOf: (value: V) => number): SizedCache<V> {
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
        if (used <= room || known.size === 1) return
        drop(oldest)
      }
    },
  }
}
