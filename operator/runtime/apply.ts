/** Brings the objects of an owner into the cluster, writing only what is not there yet as it should be. */
import { createHash } from 'node:crypto'
import { BoundedMap } from '../../core/bounded-map.ts'
import { canonicalJson } from '../../core/json.ts'
import { ApiError, isConflict } from '../../core/kube/api-error.ts'
import type { KubeClient } from '../../core/kube/client.ts'
import { type KubeObject, type ObjectRef, refOf } from '../../core/kube/object.ts'
import type { Log } from '../../core/log.ts'
import { contains } from './contains.ts'
import type { OperatorMetrics } from './operator-metrics.ts'
import { controllerOf, isOwnedBy, ownedBy } from './owner-reference.ts'

export const APPLIED_ANNOTATION = 'portolan.dev/applied'
/** Objects whose last write is remembered; of others it is found out again, by one write that changes nothing. */
const MAX_REMEMBERED = 20_000
const HASH_CHARACTERS = 16
const TYPE_ERROR = /failed to (create typed patch|convert new) object/
/** Kinds that are watched as metadata alone. */
const METADATA_KINDS = ['ConfigMap', 'Secret']

export type ApplierOptions = {
  client: Pick<KubeClient, 'get' | 'apply' | 'delete'>
  log: Log
  metrics: OperatorMetrics
  fieldManager: string
}

/** Finds an object in a cache; where it does not, the API server is asked. Of a kind that is watched as metadata, only that. */
export type Observed = (ref: ObjectRef) => KubeObject | undefined

export type Applied = {
  /** Objects that stand under a name of ours and that `owner` does not control. Where there is one, nothing was written. */
  taken: ObjectRef[]
  /** How many objects were sent to the API server. */
  written: number
  /** What the API server said of an object that it does not take as it is; those after it were not sent. */
  refused?: string
}

export type Applier = {
  /**
   * Applies `objects` in their order, in the namespace of their owner and with its reference; stops at the first error. What is as it
   * should be is not written: it carries the hash of the desired object and its fields are as desired (of metadata alone: nobody wrote it since).
   */
  apply(
    owner: KubeObject,
    objects: readonly KubeObject[],
    observed: Observed,
    signal: AbortSignal,
  ): Promise<Applied>
  /** Deletes those of `owned` that `owner` controls and that are not in `keep`; returns how many. */
  prune(
    owner: KubeObject,
    keep: readonly ObjectRef[],
    owned: Iterable<KubeObject>,
    signal: AbortSignal,
  ): Promise<number>
}

type Wanted = { object: KubeObject; hash: string; found: KubeObject | undefined }

export function createApplier(options: ApplierOptions): Applier {
  const { client } = options
  const written = new Written()
  return {
    async apply(owner, objects, observed, signal) {
      const wanted: Wanted[] = []
      for (const given of objects) {
        const object = ownedBy(given, owner)
        const ref = refOf(object)
        const found = observed(ref) ?? (await client.get(ref, signal))
        wanted.push({ object, hash: hashOf(object), found })
      }
      const taken = wanted.filter(({ found }) => found && !isOwnedBy(found, owner))
      if (taken.length > 0) return { taken: taken.map(({ object }) => refOf(object)), written: 0 }
      const unsettled = wanted.filter(one => !written.isSettled(one))
      for (const [at, one] of unsettled.entries()) {
        try {
          written.remember(await write(options, one, signal), one.hash)
        } catch (error) {
          if (!isRefusal(error)) throw error
          return { taken: [], written: at, refused: error.message }
        }
      }
      return { taken: [], written: unsettled.length }
    },
    async prune(owner, keep, owned, signal) {
      const kept = new Set(keep.map(keyOfRef))
      let deleted = 0
      for (const object of owned) {
        const isOurs = controllerOf(object)?.uid === owner.metadata.uid
        if (!isOurs || object.metadata.deletionTimestamp || kept.has(keyOfRef(refOf(object)))) continue
        if (await remove(options, object, signal)) deleted++
        written.forget(object)
      }
      return deleted
    },
  }
}

/** By uid: hash and resourceVersion after our last write, or when first seen with our hash. */
class Written {
  readonly #last = new BoundedMap<{ hash: string; resourceVersion?: string }>(MAX_REMEMBERED)

  remember({ metadata: { uid = '', resourceVersion } }: KubeObject, hash: string): void {
    this.#last.set(uid, { hash, resourceVersion })
  }

  forget({ metadata: { uid = '' } }: KubeObject): void {
    this.#last.delete(uid)
  }

  /** Whether the object that was found is as wanted. */
  isSettled({ object, hash, found }: Wanted): boolean {
    if (found?.metadata.annotations?.[APPLIED_ANNOTATION] !== hash) return false
    const { uid = '', resourceVersion } = found.metadata
    const last = this.#last.get(uid)
    const isKnown = last?.hash === hash
    if (isKnown && last.resourceVersion === resourceVersion) return true
    const wanted = comparable(object)
    // of metadata alone: whoever wrote since our last write may have changed the rest
    const isAsWanted = isMetadataOnly(found)
      ? !isKnown && contains(found.metadata, wanted.metadata)
      : contains(found, wanted)
    if (!isAsWanted) return false
    this.remember(found, hash)
    return true
  }
}

/** The object as it then is. */
async function write(
  { client, log, metrics, fieldManager }: ApplierOptions,
  { object, hash, found }: Wanted,
  signal: AbortSignal,
): Promise<KubeObject> {
  // an object that was deleted and made anew by somebody else is another one: the uid makes that a conflict
  const metadata = {
    ...object.metadata,
    annotations: { ...object.metadata.annotations, [APPLIED_ANNOTATION]: hash },
    ...(found ? { uid: found.metadata.uid } : {}),
  }
  const now = await client.apply({ ...object, metadata }, { fieldManager, force: true }, signal)
  const { kind, namespace, name } = refOf(object)
  metrics.wrote(kind, 'apply')
  log.debug({ kind, namespace, name, made: !found }, 'applied')
  return now
}

/** An object that cannot be as wanted, whenever it is sent: a wrong value (422), or one of a wrong type, for which apply answers 500. */
function isRefusal(error: unknown): error is ApiError {
  if (!(error instanceof ApiError)) return false
  return error.status === 422 || (error.status === 500 && TYPE_ERROR.test(error.message))
}

/** False where it is gone already, or another one of that name stands there. */
async function remove(
  { client, log, metrics }: ApplierOptions,
  object: KubeObject,
  signal: AbortSignal,
): Promise<boolean> {
  const ref = refOf(object)
  try {
    if (!(await client.delete(ref, { uid: object.metadata.uid }, signal))) return false
  } catch (error) {
    if (isConflict(error)) return false
    throw error
  }
  metrics.wrote(ref.kind, 'delete')
  log.debug({ kind: ref.kind, namespace: ref.namespace, name: ref.name }, 'deleted')
  return true
}

function hashOf(object: KubeObject): string {
  return createHash('sha256').update(canonicalJson(object)).digest('hex').slice(0, HASH_CHARACTERS)
}

/** True of what a cache of metadata gave: the object without its content. */
function isMetadataOnly(found: KubeObject): boolean {
  return METADATA_KINDS.includes(found.kind) && !('data' in found || 'binaryData' in found)
}

/** Owners are looked at apart: others may add references. */
function comparable({ metadata: { ownerReferences: _, ...metadata }, ...rest }: KubeObject) {
  return { ...rest, metadata }
}

function keyOfRef({ apiVersion, kind, namespace = '', name }: ObjectRef): string {
  return `${apiVersion}/${kind}/${namespace}/${name}`
}
