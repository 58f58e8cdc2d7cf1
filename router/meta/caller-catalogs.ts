/** The restricted catalogs of callers: made from the newest catalog, or from the catalog of the user if users have lists of their own. */
import type { Caller } from '../../core/mcp/caller.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import type { Access } from '../access/access.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { OwnCatalogs } from '../own-catalogs.ts'
import { listsToRead, type ReadingRequest } from './lists-to-read.ts'

export type CallerCatalogsOptions = {
  /** The current catalog; each request keeps the catalog that it began with. */
  current: () => Catalog
  /** Restricts a catalog for a caller. */
  access: Access
  /** The catalogs of users who have lists of their own. Absent: the lists are the same for all. */
  own?: Pick<OwnCatalogs, 'soon' | 'built'>
}

/** Restricts a catalog for a caller; returns a promise if the catalog of the user has to be built first. */
export type RestrictCatalog = (whole: Catalog, identity: Identity) => Catalog | Promise<Catalog>

export type CallerCatalogs = {
  restrict: RestrictCatalog
  /** The caller's restricted catalog as it is now, without waiting. */
  catalogOf(identity: Identity): Catalog
  /** The same once the lists that the request needs are read. Undefined: there is nothing to wait for. */
  readyCatalogOf(caller: Caller, request: ReadingRequest): Promise<Catalog> | undefined
}

export function createCallerCatalogs({ current, access, own }: CallerCatalogsOptions): CallerCatalogs {
  return {
    restrict(whole, identity) {
      const found = own?.built(whole, identity) ?? whole
      return found instanceof Promise ? found.then(built => access(built, identity)) : access(found, identity)
    },
    catalogOf: identity => access(current(), identity),
    readyCatalogOf(caller, request) {
      const whole = current()
      if (!own || whole.listedPerUser.length === 0) return undefined
      const servers = listsToRead(whole, request)
      return servers && own.soon(whole, caller, servers)?.then(found => access(found, caller.identity))
    },
  }
}
