/** What callers see: of the newest catalog, or of their own one where they have lists of their own. */
import type { Caller } from '../../core/mcp/caller.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import type { Access } from '../access/access.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { OwnCatalogs } from '../own-catalogs.ts'
import { type Looking, listsLookedAt } from './looked-at.ts'

export type SightOptions = {
  /** The current catalog; each request keeps what its caller sees of the one it began with. */
  current: () => Catalog
  /** What a caller sees of a catalog. */
  access: Access
  /** The catalogs of users who have lists of their own. Absent: the lists are the same for all. */
  own?: Pick<OwnCatalogs, 'soon' | 'built'>
}

/** What a caller sees of a catalog; a promise, if it is to be built first. */
export type Seen = (whole: Catalog, identity: Identity) => Catalog | Promise<Catalog>

export type Sight = {
  seen: Seen
  /** What a caller sees now, without waiting for anything. */
  seenBy(identity: Identity): Catalog
  /** The same once what the request looks at is read and built. Undefined: there is nothing to wait for. */
  soonSeenBy(caller: Caller, looking: Looking): Promise<Catalog> | undefined
}

export function createSight({ current, access, own }: SightOptions): Sight {
  return {
    seen(whole, identity) {
      const found = own?.built(whole, identity) ?? whole
      return found instanceof Promise ? found.then(built => access(built, identity)) : access(found, identity)
    },
    seenBy: identity => access(current(), identity),
    soonSeenBy(caller, looking) {
      const whole = current()
      if (!own || whole.listedPerUser.length === 0) return undefined
      const servers = listsLookedAt(whole, looking)
      return servers && own.soon(whole, caller, servers)?.then(found => access(found, caller.identity))
    },
  }
}
