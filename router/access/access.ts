/** The catalogs that callers see: the whole one, or what their rules leave of it, made once for each combination of rules. */
import { BoundedMap } from '../../core/bounded-map.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { restrict } from '../catalog/restrict.ts'
import { viewOf } from './view.ts'

/** Returns what a caller sees of a catalog. Results belong to the catalog, so that no decision survives a change of rules or servers. */
export type Access = (catalog: Catalog, identity: Identity) => Catalog

/** Combinations of rules in use at a time; others are made anew when they are needed again. */
const MAX_VIEWS = 64

export function createAccess(): Access {
  const known = new WeakMap<Catalog, Views>()
  return (catalog, identity) => {
    let views = known.get(catalog)
    if (!views) {
      views = { byIdentity: new WeakMap(), byRules: new BoundedMap(MAX_VIEWS) }
      known.set(catalog, views)
    }
    let seen = views.byIdentity.get(identity)
    if (!seen) {
      seen = seenBy(catalog, identity, views)
      views.byIdentity.set(identity, seen)
    }
    return seen
  }
}

type Views = { byIdentity: WeakMap<Identity, Catalog>; byRules: BoundedMap<Catalog> }

function seenBy(catalog: Catalog, identity: Identity, { byRules }: Views): Catalog {
  const view = viewOf(catalog.config.access, identity)
  if (!view) return catalog
  let seen = byRules.get(view.key)
  if (!seen) {
    seen = restrict(catalog, view)
    byRules.set(view.key, seen)
  }
  return seen
}
