/** Publishes the result of discovery: the catalog's slices, and discovery's part of the server's status. */
import type { Clock } from '../../core/async.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { encodeSlices } from '../../core/catalog/slices.ts'
import { Fault } from '../../core/errors.ts'
import { ApiError } from '../../core/kube/api-error.ts'
import { readCatalog } from '../../core/kube/catalog.ts'
import type { KubeClient } from '../../core/kube/client.ts'
import { type KubeObject, refOf } from '../../core/kube/object.ts'
import type { McpServer } from '../../crds/server.ts'
import { sliceObjects } from '../plan/slice-objects.ts'
import type { Applier } from '../runtime/apply.ts'
import { createStatusWriter, type StatusWriter } from '../runtime/apply-status.ts'
import type { Caches, Manifest } from '../runtime/caches.ts'
import type { OperatorMetrics } from '../runtime/operator-metrics.ts'
import type { DescriptionTokens } from './description-tokens.ts'
import {
  DISCOVERY_CONDITIONS,
  DISCOVERY_FIELDS,
  type DiscoveryStatus,
  discoveredStatus,
  discoveryPart,
  failedStatus,
} from './discovery-status.ts'
import type { Encoding } from './encoding-controller.ts'
import type { Pins } from './pins.ts'
import { serverOfSlice } from './slice-sets.ts'

export const DISCOVERY_MANAGER = 'portolan-discovery'

export type PublisherOptions = {
  client: Pick<KubeClient, 'get' | 'applyStatus'>
  caches: Pick<Caches, 'find' | 'ownedBy'>
  applier: Applier
  tokens: DescriptionTokens
  encoding: Encoding
  pins: Pins
  clock: Clock
  metrics: OperatorMetrics
}

/** A server as a cluster object and as a parsed manifest. */
export type Discovered = { key: string; object: Manifest; server: McpServer }

export class Publisher {
  readonly #options: PublisherOptions
  readonly #applyStatus: StatusWriter
  /** The last written status by server uid: the caches may lag behind. */
  readonly #last = new Map<string, DiscoveryStatus>()

  constructor(options: PublisherOptions) {
    const { client, clock, metrics } = options
    const owned = { fields: DISCOVERY_FIELDS, conditions: DISCOVERY_CONDITIONS }
    this.#options = options
    this.#applyStatus = createStatusWriter({ client, clock, metrics, owned, fieldManager: DISCOVERY_MANAGER })
  }

  /** The last published status, by this or an earlier operator process. */
  last({ metadata, status }: Manifest): DiscoveryStatus | undefined {
    return this.#last.get(metadata.uid ?? '') ?? discoveryPart(status)
  }

  /** The published catalog; undefined if there is none that can be read. */
  async catalog({ object }: Discovered, signal: AbortSignal): Promise<ServerCatalog | undefined> {
    const { namespace = '', name } = object.metadata
    try {
      return await readCatalog(this.#options.client, namespace, name, undefined, signal)
    } catch (error) {
      if (error instanceof ApiError || !(error instanceof Fault)) throw error
      return undefined
    }
  }

  /**
   * Publishes the served part of a catalog with the vectors known from `published`, and starts computing the missing ones. Returns whether
   * the slices changed. Writes slices first, so that the status never names a catalog that does not exist. Throws ApiError, and Fault
   * `conflict` if a ConfigMap of another owner has the name of a slice.
   */
  async found(
    discovered: Discovered,
    catalog: ServerCatalog,
    published: ServerCatalog | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { object, server } = discovered
    const { tokens, clock, pins } = this.#options
    const last = this.last(object)
    const list = await pins.apply(discovered, catalog, last?.tools?.approved, signal)
    const isChanged = await this.#write(discovered, list.catalog, published, signal)
    const counts = await tokens.of([server])
    const status = discoveredStatus(server, list, counts, last, clock.now())
    await this.#writeStatus(object, status, signal)
    return isChanged
  }

  /** Adds newly computed vectors to the published catalog; true if it lacked them. Throws as `found`. */
  async encoded(discovered: Discovered, signal: AbortSignal): Promise<boolean> {
    const published = await this.catalog(discovered, signal)
    return published !== undefined && (await this.#write(discovered, published, published, signal))
  }

  /** Publishes a failure; the last catalog stays. */
  async failed(
    { object, server }: Discovered,
    fault: Fault,
    connected: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#writeStatus(object, failedStatus(server, fault, connected, this.last(object)), signal)
  }

  /** Publishes the last status again, for the manifest's new generation. */
  async repeat({ object, server }: Discovered, last: DiscoveryStatus, signal: AbortSignal): Promise<void> {
    const { generation: observedGeneration } = server.metadata
    const conditions = last.conditions.map(condition => ({ ...condition, observedGeneration }))
    await this.#writeStatus(object, { ...last, conditions }, signal)
  }

  /** Call when the server is gone. */
  forget(uid = ''): void {
    this.#last.delete(uid)
    this.#options.pins.forget(uid)
  }

  /** Writes the slices; true if they changed. */
  async #write(
    { key, object, server }: Discovered,
    catalog: ServerCatalog,
    published: ServerCatalog | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { applier, caches, encoding } = this.#options
    const complete = encoding.complete(key, server, catalog, published)
    const objects = sliceObjects(server, encodeSlices(complete))
    const { taken, written, refused } = await applier.apply(object, objects, caches.find, signal)
    if (taken.length > 0)
      throw new Fault(
        'conflict',
        `The ConfigMap "${taken[0]?.name}" has another owner: delete it, or rename the server`,
      )
    if (refused !== undefined) throw new Fault('bad_request', refused)
    const owned = caches.ownedBy(object.metadata.uid ?? '').filter(one => serverOfSlice(one) === key)
    await applier.prune(object, objects.map(refOf), owned, signal)
    encoding.published(key)
    return written > 0
  }

  async #writeStatus(object: KubeObject, status: DiscoveryStatus, signal: AbortSignal): Promise<void> {
    await this.#applyStatus(object, status, signal)
    this.#last.set(object.metadata.uid ?? '', status)
  }
}
