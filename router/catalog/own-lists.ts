/** Builds the catalog of a user for whom servers have other lists than for others: the user's lists replace the shared ones. Pure. */
import type { RouterServer } from '../../core/catalog/router-config.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { assembleCatalog, type Catalog } from './catalog.ts'
import { buildServerPart, partKey, type ServerPart } from './server-part.ts'

/**
 * `lists`: the user's lists, by server. Everything else is that of `whole`. Parts of `before`, an earlier catalog with such lists, are reused if they
 * are unchanged. Yields often, as buildCatalog does.
 */
export function* buildOwnCatalog(
  whole: Catalog,
  lists: ReadonlyMap<string, ServerCatalog>,
  before?: Catalog,
): Generator<void, Catalog> {
  const { generation, config } = whole
  const shared = partsOf(whole)
  const known = partsOf(before)
  const parts: ServerPart[] = []
  for (const server of config.servers) {
    const list = lists.get(server.name)
    const part = list
      ? (sameOf(known.get(server.name), server, list) ?? (yield* buildServerPart(server, list)))
      : shared.get(server.name)
    if (part) parts.push(part)
  }
  const catalogs = new Map([...whole.catalogs, ...lists])
  return yield* assembleCatalog({ generation, config, catalogs }, parts, before ?? whole)
}

function partsOf(catalog: Catalog | undefined): Map<string, ServerPart> {
  return new Map(catalog?.parts.map(part => [part.server, part]))
}

function sameOf(part: ServerPart | undefined, server: RouterServer, list: ServerCatalog) {
  return part?.key === partKey(server, list) ? part : undefined
}
