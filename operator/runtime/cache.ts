/** All objects of one kind in the watched namespaces, as one view over a list-watch for each. */
import type { Query } from '../../core/kube/client.ts'
import { type Listener, ListWatch, type ListWatchOptions } from '../../core/kube/list-watch.ts'
import type { KubeObject, ObjectMeta } from '../../core/kube/object.ts'
import { LABEL, PRODUCT } from '../plan/names.ts'

const OWN_ANNOTATIONS = 'portolan.dev/'

/** What the operator watches: named namespaces, or all. */
export type Namespaces = 'all' | readonly string[]

export type Cache<T extends KubeObject> = {
  /** By `namespace/name`; frozen. */
  get(key: string): T | undefined
  /** All objects by key as of now: a map that never changes. */
  readonly objects: ReadonlyMap<string, T>
  /** Tells `listener` of every later change, after the cache has it; returns the way to take it back. */
  onChange(listener: Listener<T>): () => void
}

export type WatchedCache<T extends KubeObject> = Cache<T> & {
  readonly kind: string
  readonly isSynced: boolean
  readonly synced: Promise<unknown>
  run(signal: AbortSignal): Promise<void>
}

/** Watches `query` in each of the namespaces. */
export function createCache<T extends KubeObject>(
  options: Omit<ListWatchOptions<T>, 'query'> & { query: Query; namespaces: Namespaces },
): WatchedCache<T> {
  const { namespaces, query, ...rest } = options
  const keep = query.metadataOnly ? slimMetadata : slim
  const queries = namespaces === 'all' ? [query] : namespaces.map(namespace => ({ ...query, namespace }))
  const watches = queries.map(one => new ListWatch<T>({ ...rest, query: one, keep }))
  const [only] = watches
  let joined: ReadonlyMap<string, T> | undefined
  for (const watch of watches) {
    watch.onChange(() => {
      joined = undefined
    })
  }
  return {
    kind: query.kind,
    get: key => watches.map(watch => watch.get(key)).find(Boolean),
    get objects() {
      if (watches.length === 1 && only) return only.objects
      joined ??= new Map(watches.flatMap(watch => [...watch.objects]))
      return joined
    },
    onChange(listener) {
      const ends = watches.map(watch => watch.onChange(listener))
      return () => {
        for (const end of ends) end()
      }
    },
    get isSynced() {
      return watches.every(watch => watch.isSynced)
    },
    get synced() {
      return Promise.all(watches.map(watch => watch.synced))
    },
    async run(signal) {
      await Promise.all(watches.map(watch => watch.run(signal)))
    },
  }
}

/** Without what nobody reads and what may be larger than the rest: who wrote which field, and kubectl's copy of the manifest. */
function slim<T extends KubeObject>(object: T): T {
  const {
    managedFields: _,
    annotations,
    ...metadata
  } = object.metadata as T['metadata'] & {
    managedFields?: unknown
  }
  const { 'kubectl.kubernetes.io/last-applied-configuration': __, ...kept } = annotations ?? {}
  return { ...object, metadata: { ...metadata, ...(annotations ? { annotations: kept } : {}) } }
}

/** A cluster has many ConfigMaps and Secrets, most of which are nothing to us: what they are called, in which version, and whose. */
function slimMetadata<T extends KubeObject>({ apiVersion, kind, metadata }: T): T {
  const { name, namespace, uid, resourceVersion, ownerReferences, labels, annotations } = metadata
  const own = Object.entries(annotations ?? {}).filter(([key]) => key.startsWith(OWN_ANNOTATIONS))
  const kept: ObjectMeta = {
    name,
    namespace,
    uid,
    resourceVersion,
    ...(ownerReferences && { ownerReferences }),
    ...(labels?.[LABEL.managedBy] === PRODUCT && { labels }),
    ...(own.length > 0 && { annotations: Object.fromEntries(own) }),
  }
  return { apiVersion, kind, metadata: kept } as T
}
