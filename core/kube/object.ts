/** Kubernetes objects in their JSON form: types, keys and references. Pure. */

export type OwnerReference = {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

/** FieldsV1: the fields that a manager set, as a tree of `f:<field>`, `k:<keys of a list's item>`, `v:<value>` and `.`. */
export type FieldSet = { [step: string]: FieldSet }

/** metav1.ManagedFieldsEntry. */
export type ManagedFields = {
  manager?: string
  operation?: string
  apiVersion?: string
  time?: string
  fieldsType?: string
  fieldsV1?: FieldSet
  subresource?: string
}

export type ObjectMeta = {
  name: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  labels?: Record<string, string>
  annotations?: Record<string, string>
  creationTimestamp?: string
  deletionTimestamp?: string
  finalizers?: string[]
  ownerReferences?: OwnerReference[]
  managedFields?: ManagedFields[]
}

export type KubeObject = { apiVersion: string; kind: string; metadata: ObjectMeta }

/** The JSON form of a type of @kubernetes/client-node: times are strings, `_from` is `from`. */
export type JsonOf<T> = 0 extends 1 & T
  ? T
  : T extends Date
    ? string
    : T extends readonly (infer Item)[]
      ? JsonOf<Item>[]
      : T extends object
        ? { [K in keyof T as K extends `_${infer Name}` ? Name : K]: JsonOf<T[K]> }
        : T

/** An object of a kind that @kubernetes/client-node knows: `Kube<V1Deployment>`. */
export type Kube<T> = KubeObject & JsonOf<Omit<T, 'apiVersion' | 'kind' | 'metadata'>>

export type Kind = { apiVersion: string; kind: string }
/** Identifies one object of a cluster; cluster-scoped kinds have no namespace. */
export type ObjectRef = Kind & { namespace?: string; name: string }

/** The key of an object in stores and queues: `namespace/name`, or `name` for cluster-scoped kinds. */
export function keyOf({ metadata: { namespace, name } }: { metadata: ObjectMeta }): string {
  return namespace ? `${namespace}/${name}` : name
}

export function refOf({ apiVersion, kind, metadata: { namespace, name } }: KubeObject): ObjectRef {
  return { apiVersion, kind, namespace, name }
}

/** Freezes the object deeply and returns it. Not recursive: users' objects may be nested more deeply than the stack allows. */
export function freeze<T>(value: T): T {
  const left: unknown[] = [value]
  while (left.length > 0) {
    const next = left.pop()
    if (typeof next !== 'object' || next === null) continue
    Object.freeze(next)
    for (const inner of Object.values(next)) left.push(inner)
  }
  return value
}
