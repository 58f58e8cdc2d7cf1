/** All objects of one kind in the watched namespaces: one view over one list-watch per namespace. */
import type { Query } from '../../core/kube/client.ts'
import { type Listener, ListWatch, type ListWatchOptions, type Refusal } from '../../core/kube/list-watch.ts'
import type { KubeObject, ObjectMeta } from '../../core/kube/object.ts'
import { LABEL, PRODUCT } from '../plan/names.ts'
import { foreignEntries } from './foreign-fields.ts'

/** Prefix of our annotations. */
const OWN_ANNOTATIONS = 'portolan.dev/'

/** The watched namespaces. */
export type Namespaces = 'all' | readonly string[]

export type Cache<T extends KubeObject> = {
  /** By `namespace/name`; frozen. */
  get(key: string): T | undefined
  /** A snapshot of all objects by key. */
  readonly objects: ReadonlyMap<string, T>
  /** Calls `listener` for every later change, after the cache was updated; returns a function that unsubscribes. */
  onChange(listener: Listener<T>): () => void
}

export type WatchedCache<T extends KubeObject> = Cache<T> & {
  readonly kind: string
  /** The namespaces whose objects were not listed yet, `''` for all, and whether the API server refuses it. */
  readonly unlisted: readonly { namespace: string; refusal: Refusal | undefined }[]
  /** Resolves when all objects were listed once. */
  readonly synced: Promise<unknown>
  /** Lists and watches until `signal` aborts. */
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
    get unlisted() {
      return watches.flatMap(({ isSynced, refusal }, at) =>
        isSynced ? [] : [{ namespace: queries[at]?.namespace ?? '', refusal }],
      )
    },
    get synced() {
      return Promise.all(watches.map(watch => watch.synced))
    },
    async run(signal) {
      await Promise.all(watches.map(watch => watch.run(signal)))
    },
  }
}

/** Drops managedFields (except what others set in our objects) and kubectl's copy of the manifest, which may be larger than the rest. */
function slim<T extends KubeObject>(object: T): T {
  const { managedFields: _, annotations, ...metadata } = object.metadata
  const managedFields = foreignEntries(object)
  const { 'kubectl.kubernetes.io/last-applied-configuration': __, ...kept } = annotations ?? {}
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(annotations && { annotations: kept }),
      ...(managedFields.length > 0 && { managedFields }),
    },
  }
}

/** Keeps name, version and owner, also our annotations, and the labels if it has such or is our object. Most ConfigMaps and Secrets are of others. */
function slimMetadata<T extends KubeObject>({ apiVersion, kind, metadata }: T): T {
  const { name, namespace, uid, resourceVersion, ownerReferences, labels, annotations } = metadata
  const own = Object.entries(annotations ?? {}).filter(([key]) => key.startsWith(OWN_ANNOTATIONS))
  const kept: ObjectMeta = {
    name,
    namespace,
    uid,
    resourceVersion,
    ...(ownerReferences && { ownerReferences }),
    ...((own.length > 0 || labels?.[LABEL.managedBy] === PRODUCT) && { labels }),
    ...(own.length > 0 && { annotations: Object.fromEntries(own) }),
  }
  return { apiVersion, kind, metadata: kept } as T
}
