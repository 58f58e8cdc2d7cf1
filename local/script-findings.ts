/** Finds tools that reviewed scripts call and that no server has. Problems within a single manifest are found elsewhere. */
import { join } from 'node:path'
import { isAllowed } from '../core/catalog/policy.ts'
import { unknownTools } from '../core/code/unknown-tools.ts'
import type { Problem } from '../core/errors.ts'
import { REASON } from '../crds/conditions.ts'
import { createCatalogCache } from './catalog-cache.ts'
import { type DesiredServer, listRevision } from './children.ts'
import type { Desired } from './desire.ts'
import type { PlacedManifest } from './files.ts'
import { withLocation } from './read.ts'

/** Checks the scripts that the gateway offers. Every tool of a server that was never run with this cache counts as known. */
export async function scriptFindings(
  { scripts, config }: Pick<Desired, 'scripts' | 'config'>,
  running: readonly DesiredServer[],
  manifests: readonly PlacedManifest[],
  cacheFolder: string,
): Promise<Problem[]> {
  const offered = new Set(config.scripts?.map(({ name }) => name))
  if (offered.size === 0) return []
  const cache = createCatalogCache(join(cacheFolder, 'catalogs'))
  const lists = await Promise.all(
    running.map(async desired => {
      const { name } = desired.server.metadata
      const cached = await cache.load(name, listRevision(desired))
      const tools = cached?.catalog.tools.map(({ definition }) => definition.name)
      return [name, tools] as const
    }),
  )
  const listOf = new Map(lists)
  const servers = config.servers.map(({ name, tools }) => ({
    name,
    tools: listOf.get(name)?.filter(tool => isAllowed(tools, tool)),
  }))
  return scripts
    .filter(({ manifest }) => offered.has(manifest.metadata.name))
    .flatMap(({ manifest, inspected }) =>
      unknownTools(inspected.tools, servers).map(tool =>
        withLocation(unknownTool(tool), manifest, manifests),
      ),
    )
}

/** The problem of a script that calls a tool which no server has. */
export function unknownTool(tool: string): Problem {
  const message = `calls ${tool}, and no server of the gateway has such a tool`
  return { reason: REASON.toolNotFound, path: 'spec.code', message }
}
