/** Findings of earlier runs about servers: tools that wait for approval, and text that hides characters. Reads only the cache. */
import { join } from 'node:path'
import { hiddenTextIn, hiddenTextLine } from '../core/catalog/hidden-text.ts'
import type { ServerCatalog } from '../core/catalog/server-catalog.ts'
import { changesLine, changesOf } from '../core/catalog/tool-changes.ts'
import type { Problem } from '../core/errors.ts'
import { REASON } from '../crds/conditions.ts'
import { type ApprovalRecord, createApprovals } from './approvals.ts'
import { createCatalogCache } from './catalog-cache.ts'
import { type DesiredServer, listRevision, subjectOf } from './children.ts'

/** Returns notes in the order of the servers. Servers that were never run with this cache have none. */
export async function keptFindings(
  servers: readonly DesiredServer[],
  cacheFolder: string,
): Promise<Problem[]> {
  const cache = createCatalogCache(join(cacheFolder, 'catalogs'))
  const approvals = createApprovals(cacheFolder)
  const notes = servers.map(async wanted => {
    const { server, folder } = wanted
    const { name } = server.metadata
    const cached = await cache.load(name, listRevision(wanted))
    const kept = server.spec.tools.pin ? await approvals.load(subjectOf(server, folder)) : undefined
    return [...changed(name, kept), ...hidden(name, cached?.catalog)]
  })
  return (await Promise.all(notes)).flat()
}

function changed(name: string, kept: ApprovalRecord | undefined): Problem[] {
  const changes = kept?.found && changesOf(kept.approved, kept.found)
  if (!changes) return []
  const message = `${name}: tools changed since they were approved (${changesLine(changes)}): look at them with portolan approve ${name} --diff`
  return [{ reason: REASON.toolsChanged, message }]
}

function hidden(name: string, catalog: ServerCatalog | undefined): Problem[] {
  const found = catalog && hiddenTextIn(catalog)
  if (!found) return []
  const message = `${name}: text of the server hides characters: ${hiddenTextLine(found)}`
  return [{ reason: REASON.hiddenCharacters, message }]
}
