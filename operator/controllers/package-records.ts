/** Records in ConfigMaps what the pods of servers installed. Later pods compare their installation with these records. */
import type { V1ConfigMap, V1Pod } from '@kubernetes/client-node'
import { BoundedMap } from '../../core/bounded-map.ts'
import { Fault } from '../../core/errors.ts'
import { canonicalJson } from '../../core/json.ts'
import { isDenied } from '../../core/kube/api-error.ts'
import type { KubeClient } from '../../core/kube/client.ts'
import { type Kube, keyOf, refOf } from '../../core/kube/object.ts'
import type { Log } from '../../core/log.ts'
import { type KnownPackages, parseKnown } from '../../core/packages/integrity.ts'
import type { McpServer } from '../../crds/server.ts'
import { packagesName } from '../plan/names.ts'
import {
  approvedIntegrity,
  contradicting,
  PACKAGES_KEY,
  type PackageReport,
  packageReports,
  packagesObject,
  unrecorded,
  withReports,
} from '../plan/package-records.ts'
import type { Taken } from '../plan/plan.ts'
import { type Applier, isRefusal } from '../runtime/apply.ts'
import type { Caches, Manifest } from '../runtime/caches.ts'
import { isOwnedBy } from '../runtime/owner-reference.ts'

/** How many ConfigMaps' contents are remembered; others are read again. */
const MAX_REMEMBERED = 4_000
const NOTHING: Kept = { otherContent: [], unrecorded: [], taken: [] }

export type PackageRecordsOptions = {
  client: Pick<KubeClient, 'get'>
  caches: Pick<Caches, 'configMaps' | 'find'>
  applier: Applier
  log: Log
}

/**
 * `otherContent`: reports that contradict the records. `unrecorded`: those that the records have no room for. `taken`: the ConfigMap, if
 * another owner has one with its name. `recordsDenied`: the API server's message if it does not let the records be read or written.
 */
export type Kept = {
  otherContent: PackageReport[]
  unrecorded: PackageReport[]
  taken: Taken[]
  recordsDenied?: string
}

export class PackageRecords {
  readonly #options: PackageRecordsOptions
  /** By uid of the server. */
  readonly #known = new BoundedMap<{ resourceVersion?: string; known: KnownPackages }>(MAX_REMEMBERED)

  constructor(options: PackageRecordsOptions) {
    this.#options = options
  }

  /** Records what the pods report. Damaged records are not overwritten, so that a person can inspect them. Throws ApiError, unless it is denied. */
  async keep(
    object: Manifest,
    server: McpServer,
    pods: readonly Kube<V1Pod>[],
    signal: AbortSignal,
  ): Promise<Kept> {
    try {
      return await this.#keep(object, server, pods, signal)
    } catch (error) {
      if (!isDenied(error) && !isRefusal(error)) throw error
      return { ...NOTHING, recordsDenied: error.message }
    }
  }

  async #keep(
    object: Manifest,
    server: McpServer,
    pods: readonly Kube<V1Pod>[],
    signal: AbortSignal,
  ): Promise<Kept> {
    if (!server.spec.npm && !server.spec.pypi) return NOTHING
    const reports = packageReports(server, pods)
    const approved = approvedIntegrity(object)
    const remembered = this.#remembered(object)
    if (remembered && isUpToDate(remembered, reports, approved)) return compared(remembered, reports)
    // A write replaces all records, so they are first read from the API server: the cache may lag behind.
    const found = await this.#read(object, signal)
    if (found === 'taken') return { ...NOTHING, taken: [refOf(packagesObject(server, NONE))] }
    if (found === 'damaged') return NOTHING
    const known = withReports(found, reports, approved)
    if (isUpToDate(found, reports, approved)) return compared(found, reports)
    const { applier, caches, log } = this.#options
    const written = await applier.apply(object, [packagesObject(server, known)], caches.find, signal)
    if (written.refused !== undefined) return { ...NOTHING, recordsDenied: written.refused }
    const { length: records } = known.records
    log.info({ server: keyOf(object), records, approved }, 'packages recorded')
    return { ...compared(known, reports), taken: written.taken }
  }

  /** The records as last read, if the cache has no other version of the ConfigMap. */
  #remembered(object: Manifest): KnownPackages | undefined {
    const { uid = '', namespace, name } = object.metadata
    const seen = this.#options.caches.configMaps.get(
      keyOf({ metadata: { namespace, name: packagesName(name) } }),
    )
    const last = this.#known.get(uid)
    if (!seen) return NONE
    return last && last.resourceVersion === seen.metadata.resourceVersion ? last.known : undefined
  }

  async #read(object: Manifest, signal: AbortSignal): Promise<KnownPackages | 'taken' | 'damaged'> {
    const { client, log } = this.#options
    const { uid = '', namespace = '', name } = object.metadata
    const ref = { apiVersion: 'v1', kind: 'ConfigMap', namespace, name: packagesName(name) }
    const found = await client.get<Kube<V1ConfigMap>>(ref, signal)
    if (!found) return NONE
    if (!isOwnedBy(found, object)) return 'taken'
    try {
      const known = parseKnown(found.data?.[PACKAGES_KEY] ?? '')
      this.#known.set(uid, { resourceVersion: found.metadata.resourceVersion, known })
      return known
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      log.warn(
        { server: keyOf(object), configMap: ref.name, why: error.message },
        'package records are damaged',
      )
      return 'damaged'
    }
  }
}

const NONE: KnownPackages = { records: [] }

function compared(known: KnownPackages, reports: readonly PackageReport[]): Kept {
  return { otherContent: contradicting(known, reports), unrecorded: unrecorded(known, reports), taken: [] }
}

function isUpToDate(
  known: KnownPackages,
  reports: readonly PackageReport[],
  approved: string | undefined,
): boolean {
  return canonicalJson(withReports(known, reports, approved)) === canonicalJson(known)
}
