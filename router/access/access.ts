/** The catalogs that callers see: the whole one, or what their rules leave of it, built once for each combination of rules. */
import type { Identity } from '../../core/mcp/identity.ts'
import { createSizedCache, type SizedCache } from '../../core/sized-cache.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { createRestriction } from '../catalog/restrict.ts'
import { type View, viewOf } from './view.ts'

/** Returns what a caller sees of a catalog. Results belong to the catalog, so that no decision survives a change of rules or servers. */
export type Access = (catalog: Catalog, identity: Identity) => Catalog

/** Limit of tools, resources and so on in all restricted catalogs that are kept. Others are built again when they are needed. */
const ROOM = 500_000
/** What each restricted catalog takes in addition, in the same unit as ROOM. */
const OVERHEAD = 500
const EVERYTHING = 'everything'

/** `room`: the limit ROOM; tests give a smaller one. */
export function createAccess(room = ROOM): Access {
  const known = new WeakMap<Catalog, Views>()
  return (catalog, identity) => {
    let views = known.get(catalog)
    if (!views) {
      views = {
        byIdentity: new WeakMap(),
        seen: createSizedCache(room, sizeOf),
        restrict: createRestriction(catalog),
      }
      known.set(catalog, views)
    }
    return seenBy(catalog, identity, views)
  }
}

/**
 * `seen`: restricted catalogs by the key of their view. For an identity only its view is kept, and no catalog: there may be as many combinations
 * of rules as callers, and an identity is remembered as long as its credential.
 */
type Views = {
  byIdentity: WeakMap<Identity, View | typeof EVERYTHING>
  seen: SizedCache<Catalog>
  restrict: (view: View) => Catalog
}

function seenBy(catalog: Catalog, identity: Identity, { byIdentity, seen, restrict }: Views): Catalog {
  const known = byIdentity.get(identity)
  const view = known ?? viewOf(catalog.config.access, identity) ?? EVERYTHING
  if (view === EVERYTHING) {
    if (!known) byIdentity.set(identity, view)
    return catalog
  }
  let found = seen.get(view.key)
  if (!found) {
    found = restrict(view)
    seen.set(view.key, found)
  }
  // Callers with equal views share one view object.
  if (!known) byIdentity.set(identity, found.view ?? view)
  return found
}

function sizeOf({ tools, extras }: Catalog): number {
  return OVERHEAD + tools.length + extras.length
}
