/** Finds the objects of caches by something other than their name, kept up to date change by change. */
import { type KubeObject, keyOf } from '../../core/kube/object.ts'
import type { Cache } from './cache.ts'

/** `lookUp(key)` gives the objects for which `indexKey` says so; in no order. */
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
