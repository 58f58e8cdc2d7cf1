/** An index over the objects of caches, updated with every change. */
import { type KubeObject, keyOf } from '../../core/kube/object.ts'
import type { Cache } from './cache.ts'

/** Returns a function that finds the objects whose `indexKey` is the given key, in no particular order. */
export function indexBy<T extends KubeObject>(
  caches: readonly Cache<T>[],
  indexKey: (object: T) => string | undefined,
): (key: string) => T[] {
  const found = new Map<string, Map<string, T>>()
  const put = (object: T) => {
    const key = indexKey(object)
    if (key === undefined) return
    const objects = found.get(key) ?? new Map<string, T>()
    found.set(key, objects.set(identity(object), object))
  }
  const remove = (object: T) => {
    const key = indexKey(object)
    if (key === undefined) return
    const objects = found.get(key)
    objects?.delete(identity(object))
    if (objects?.size === 0) found.delete(key)
  }
  for (const cache of caches) {
    cache.onChange((before, now) => {
      if (before === now) return
      if (before) remove(before)
      if (now) put(now)
    })
  }
  return key => [...(found.get(key)?.values() ?? [])]
}

function identity(object: KubeObject): string {
  return `${object.kind}/${keyOf(object)}`
}
