/** Writes what discovery found of a server into the cluster: slices, and its part of the status. */
import type { Clock } from '../../core/async.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { encodeSlices } from '../../core/catalog/slices.ts'
import { Fault } from '../../core/errors.ts'
import { ApiError } from '../../core/kube/api-error.ts'
import { readCatalog } from '../../core/kube/catalog.ts'
import type { KubeClient } from '../../core/kube/client.ts'
import { type KubeObject, refOf } from '../../core/kube/object.ts'
import { CONDITION } from '../../crds/conditions.ts'
import type { McpServer } from '../../crds/server.ts'
import { sliceObjects } from '../plan/slices.ts'
import type { Applier } from '../runtime/apply.ts'
import { createStatusWriter, type StatusWriter } from '../runtime/apply-status.ts'
import type { Caches, Manifest } from '../runtime/caches.ts'
import type { OperatorMetrics } from '../runtime/metrics.ts'
import type { DescriptionTokens } from './description-tokens.ts'
import {
  DISCOVERY_FIELDS,
  type DiscoveryStatus,
  discoveredStatus,
  discoveryPart,
  failedStatus,
} from './discovery-status.ts'
import type { SliceSets } from './slice-sets.ts'

export const DISCOVERY_MANAGER = 'portolan-discovery'

export type PublisherOptions = {
  client: Pick<KubeClient, 'get' | 'applyStatus'>
  caches: Pick<Caches, 'find' | 'ownedBy'>
  applier: Applier
  slices: SliceSets
  tokens: DescriptionTokens
  clock: Clock
  metrics: OperatorMetrics
}

/** A server as it is in the cluster, and as its manifest was read. */
export type Discovered = { key: string; object: Manifest; server: McpServer }

export class Publisher {
  readonly #options: PublisherOptions
  readonly #writeStatus: StatusWriter
  /** By uid of the server, what we wrote last: the caches may not have it yet. */
  readonly #last = new Map<string, DiscoveryStatus>()

  constructor(options: PublisherOptions) {
    const { client, clock, metrics } = options
    const owned = { fields: DISCOVERY_FIELDS, conditions: [CONDITION.toolsDiscovered] }
    this.#options = options
    this.#writeStatus = createStatusWriter({ client, clock, metrics, owned, fieldManager: DISCOVERY_MANAGER })
  }

  /** What was last said of a server, by us or by an operator before us. */
  last({ metadata, status }: Manifest): DiscoveryStatus | undefined {
    return this.#last.get(metadata.uid ?? '') ?? discoveryPart(status)
  }

  /** The list that stands in the cluster; undefined where none stands that can be read. */
  async catalog({ key, object }: Discovered, signal: AbortSignal): Promise<ServerCatalog | undefined> {
    if (!this.#options.slices.isWhole(key)) return undefined
    const { namespace = '', name } = object.metadata
    try {
      return await readCatalog(this.#options.client, namespace, name, undefined, signal)
    } catch (error) {
      if (error instanceof ApiError || !(error instanceof Fault)) throw error
      return undefined
    }
  }

  /** True where it is another list than before. Slices first, so that the status never names what is not there. Throws ApiError, and Fault `io` where somebody else's ConfigMap stands in the way. */
  async found(discovered: Discovered, catalog: ServerCatalog, signal: AbortSignal): Promise<boolean> {
    const { object, server } = discovered
    const { applier, caches } = this.#options
    const objects = sliceObjects(server, encodeSlices(catalog))
    const { taken, written, refused } = await applier.apply(object, objects, caches.find, signal)
    if (taken.length > 0)
      throw new Fault(
        'io',
        `The ConfigMap "${taken[0]?.name}" is somebody else's: delete it, or rename the server`,
      )
    if (refused !== undefined) throw new Fault('io', refused)
    const standing = caches.ownedBy(object.metadata.uid ?? '').filter(({ kind }) => kind === 'ConfigMap')
    await applier.prune(object, objects.map(refOf), standing, signal)
    await this.counted(discovered, catalog, signal)
    return written > 0
  }

  /** The status alone: the manifest may offer other tools of the same list now. */
  async counted({ object, server }: Discovered, catalog: ServerCatalog, signal: AbortSignal): Promise<void> {
    const { tokens, clock } = this.#options
    const counts = await tokens.of([server])
    await this.#write(
      object,
      discoveredStatus(server, catalog, counts, this.last(object), clock.now()),
      signal,
    )
  }

  /** The list that is there stays. */
  async failed(
    { object, server }: Discovered,
    fault: Fault,
    connected: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#write(object, failedStatus(server, fault, connected, this.last(object)), signal)
  }

  /** The same as before, of another generation. */
  async repeat({ object, server }: Discovered, last: DiscoveryStatus, signal: AbortSignal): Promise<void> {
    const { generation: observedGeneration } = server.metadata
    const conditions = last.conditions.map(condition => ({ ...condition, observedGeneration }))
    await this.#write(object, { ...last, conditions }, signal)
  }

  /** The server is gone. */
  forget(uid = ''): void {
    this.#last.delete(uid)
  }

  async #write(object: KubeObject, status: DiscoveryStatus, signal: AbortSignal): Promise<void> {
    await this.#writeStatus(object, status, signal)
    this.#last.set(object.metadata.uid ?? '', status)
  }
}
