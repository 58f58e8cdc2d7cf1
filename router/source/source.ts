/** Where a router gets its snapshots from: in process on a laptop, the Kubernetes API or another gateway in a cluster. */
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'

/** Everything a router serves at one moment. Immutable; equal catalogs are the same object from one snapshot to the next. */
export type Snapshot = {
  /** Never shrinks; the same again where only something that was late has come. */
  generation: number
  config: RouterConfig
  /** By server name; a server without an entry has no list yet. */
  catalogs: ReadonlyMap<string, ServerCatalog>
}

export interface Source {
  /** Yields the newest snapshot whenever there is one; snapshots that were overtaken are skipped. Ends when `signal` aborts. */
  watch(signal: AbortSignal): AsyncIterable<Snapshot>
}
