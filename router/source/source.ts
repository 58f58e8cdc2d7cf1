/** Where a router reads snapshots from: in process on a laptop, the Kubernetes API or another gateway in a cluster. */
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'

/** Everything a router serves at one moment. Immutable; a catalog that did not change is the same object in the next snapshot. */
export type Snapshot = {
  /** Never decreases. Repeated if only something that was late has been added. */
  generation: number
  config: RouterConfig
  /** By server name. A server without an entry has no list yet. */
  catalogs: ReadonlyMap<string, ServerCatalog>
}

export interface Source {
  /** Yields the newest snapshot whenever it changes, skipping those that were replaced in between. Ends when `signal` aborts. */
  watch(signal: AbortSignal): AsyncIterable<Snapshot>
}
