/** Applies and deletes the objects of an owner, writing only what differs from the desired state. */
import { createHash } from 'node:crypto'
import { BoundedMap } from '../../core/bounded-map.ts'
import { canonicalJson } from '../../core/json.ts'
import { ApiError, isConflict, isDenied, isNotFound } from '../../core/kube/api-error.ts'
import type { KubeClient } from '../../core/kube/client.ts'
import { type KubeObject, type ObjectRef, refOf } from '../../core/kube/object.ts'
import type { Log } from '../../core/log.ts'
import { contains } from './contains.ts'
import { adopt, foreignEntries } from './foreign-fields.ts'
import type { OperatorMetrics } from './operator-metrics.ts'
import { controllerOf, isOwnedBy, ownedBy, ownerText } from './owner-reference.ts'

/** Contains a hash of the object as it was last applied. */
export const APPLIED_ANNOTATION = 'portolan.dev/applied'
/** Objects whose last write is remembered; others may get one more write that changes nothing. */
const MAX_REMEMBERED = 20_000
const HASH_CHARACTERS = 16
const TYPE_ERROR = /failed to (create typed patch|convert new) object/
/** Kinds whose metadata only is watched. */
const METADATA_KINDS = ['ConfigMap', 'Secret']

export type ApplierOptions = {
  client: Pick<KubeClient, 'get' | 'apply' | 'delete' | 'patchMetadata'>
  log: Log
  metrics: OperatorMetrics
  fieldManager: string
}

/** Finds an object in a cache, metadata only for METADATA_KINDS; if it returns undefined, the API server is asked. */
export type Observed = (ref: ObjectRef) => KubeObject | undefined

/** An object of another owner, and who that is, as far as the object says. */
export type TakenRef = ObjectRef & { owner?: string }

/** Fields that others set in one of our objects, and that were removed. */
export type Drift = { ref: ObjectRef; managers: string[]; fields: string[] }

export type Applied = {
  /** Existing objects with our names that `owner` does not control. If there are any, nothing was written. */
  taken: TakenRef[]
  /** How many objects were sent to the API server. */
  written: number
  drift: Drift[]
  /** The API server's message if it refused an object as invalid; the objects after it were not sent. */
  refused?: string
}

export type Applier = {
  /**
   * Applies `objects` in order, in the namespace of their owner and with its reference; stops at the first error. Skips objects that
   * carry the hash of the desired object and contain its fields (for METADATA_KINDS: whose version is that of our last write).
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
      const drift: Drift[] = []
      if (taken.length > 0) return { taken: taken.map(takenRef), written: 0, drift }
      const unsettled = wanted.filter(one => !written.isSettled(one))
      for (const [at, one] of unsettled.entries()) {
        try {
          const removed = await takeOver(options, one, signal)
          written.remember(await write(options, one, signal), one.hash)
          if (removed) drift.push(removed)
        } catch (error) {
          if (!isRefusal(error)) throw error
          return { taken: [], written: at, drift, refused: refusalOf(error, one.object) }
        }
      }
      return { taken: [], written: unsettled.length, drift }
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
    if (foreignEntries(found).length > 0) return false
    const wanted = comparable(object)
    // With metadata only, a write since ours may have changed content that we do not see.
    const isAsWanted = isMetadataOnly(found)
      ? !isKnown && contains(found.metadata, wanted.metadata)
      : contains(found, wanted)
    if (!isAsWanted) return false
    this.remember(found, hash)
    return true
  }
}

/** The API server's message; for an unknown kind our own, since the API server's does not say what is missing. */
function refusalOf(error: ApiError, { kind, apiVersion }: KubeObject): string {
  return isNotFound(error)
    ? `this cluster has no ${kind} of ${apiVersion}: install its CustomResourceDefinition`
    : error.message
}

/** Moves fields that others set to our field manager, since server-side apply removes only fields of its own manager. Undefined if there are none. */
async function takeOver(
  { client, log, fieldManager }: ApplierOptions,
  { object, found }: Wanted,
  signal: AbortSignal,
): Promise<Drift | undefined> {
  if (!found || foreignEntries(found).length === 0) return undefined
  const ref = refOf(object)
  const current = await client.get(ref, signal)
  const adopted = current && adopt(current, fieldManager)
  if (!adopted) return undefined
  const { managedFields, managers, fields } = adopted
  const { resourceVersion = '' } = current.metadata
  try {
    await client.patchMetadata(ref, { resourceVersion, managedFields }, signal)
  } catch (error) {
    // Deleted in the meantime: the write will say so, with a conflict.
    if (isNotFound(error)) return undefined
    throw error
  }
  log.warn(
    { kind: ref.kind, namespace: ref.namespace, name: ref.name, managers, fields },
    'removing fields that others set',
  )
  return { ref, managers, fields }
}

function takenRef({ object, found }: Wanted): TakenRef {
  const owner = found && ownerText(found)
  return { ...refOf(object), ...(owner !== undefined && { owner }) }
}

/** Applies an object, and returns it as the API server stored it. */
async function write(
  { client, log, metrics, fieldManager }: ApplierOptions,
  { object, hash, found }: Wanted,
  signal: AbortSignal,
): Promise<KubeObject> {
  // With the uid, the API server answers with a conflict if another client deleted and recreated the object.
  const metadata = {
    ...object.metadata,
    annotations: { ...object.metadata.annotations, [APPLIED_ANNOTATION]: hash },
    ...(found ? { uid: found.metadata.uid } : {}),
  }
  const stored = await client.apply({ ...object, metadata }, { fieldManager, force: true }, signal)
  const { kind, namespace, name } = refOf(object)
  metrics.wrote(kind, 'apply')
  log.debug({ kind, namespace, name, made: !found }, 'applied')
  return stored
}

/**
 * Whether retrying is pointless: an invalid value (422, unless a policy denied it), a value of a wrong type, for which apply answers 500,
 * or a kind that the API server does not know (404).
 */
export function isRefusal(error: unknown): error is ApiError {
  if (!(error instanceof ApiError)) return false
  if (isNotFound(error)) return true
  return error.status === 422 ? !isDenied(error) : error.status === 500 && TYPE_ERROR.test(error.message)
}

/** Deletes an object. False if it is already gone or another object has the name. */
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

/** Without the resourceVersion, a precondition of the write. */
function hashOf({ metadata: { resourceVersion: _, ...metadata }, ...rest }: KubeObject): string {
  return createHash('sha256')
    .update(canonicalJson({ ...rest, metadata }))
    .digest('hex')
    .slice(0, HASH_CHARACTERS)
}

/** Whether the object came from a metadata cache, without its content. */
function isMetadataOnly(found: KubeObject): boolean {
  return METADATA_KINDS.includes(found.kind) && !('data' in found || 'binaryData' in found)
}

/** Without owner references, which are checked separately: others may add some. */
function comparable({ metadata: { ownerReferences: _, ...metadata }, ...rest }: KubeObject) {
  return { ...rest, metadata }
}

function keyOfRef({ apiVersion, kind, namespace = '', name }: ObjectRef): string {
  return `${apiVersion}/${kind}/${namespace}/${name}`
}
