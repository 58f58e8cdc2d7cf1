/** What the routers in sidecars need of a catalog in addition to what agents get. */
import type { Catalog } from '../catalog/catalog.ts'
import type { Access } from './access.ts'

/** The catalog as callers see it, with each server's endpoint enabled: routers in sidecars need these even if agents do not get them. */
export function exposing(access: Access): Access {
  let last: { of: Catalog; made: Catalog } | undefined
  return (of, identity) => {
    if (last?.of !== of) last = { of, made: { ...of, config: { ...of.config, exposeServers: true } } }
    return access(last.made, identity)
  }
}
