/** From files to the servers that shall run, with all their values: one reading of the paths. */
import { DEFAULT_NAMESPACE } from '../core/catalog/resolve.ts'
import type { Problem } from '../core/errors.ts'
import { placedIn } from '../core/manifests.ts'
import type { DesiredServer } from './children.ts'
import { type Desired, desire, type PlacedServer } from './desire.ts'
import type { Loaded, ManifestFiles, PlacedManifest } from './files.ts'
import { resolveInputs } from './inputs.ts'
import { ValueResolver } from './secrets.ts'

export type ReadOptions = {
  files: ManifestFiles
  env: Readonly<Record<string, string>>
  gateway?: string
  /** What was read before. */
  current?: Desired
  secretsFolder?: string
  /** A secret of this process, for digests of values. */
  digestKey: Buffer
  now: number
}

export type Reading = {
  desired: Desired
  servers: DesiredServer[]
  /** Everything that is wrong, with file, line and field. */
  problems: Problem[]
  /** Things to know that are no mistakes. */
  notes: Problem[]
  files: string[]
}

/** Never throws: what is wrong is a problem. */
export async function readPaths(options: ReadOptions): Promise<Reading> {
  const loaded = await options.files.scan()
  const desired = desire(loaded.manifests, options.gateway, options.now, options.current)
  const servers = await Promise.all(desired.running.map(place => withInputs(place, desired, loaded, options)))
  const missing = servers.flatMap(({ server, inputs }) =>
    inputs.problems.map(problem => placed(problem, server, loaded.manifests)),
  )
  return {
    desired,
    servers,
    problems: [...loaded.problems, ...desired.problems, ...missing],
    notes: loaded.notes,
    files: loaded.files,
  }
}

async function withInputs(
  { server, folder }: PlacedServer,
  { secrets, configMaps }: Desired,
  { imported }: Loaded,
  { secretsFolder, env, digestKey }: ReadOptions,
): Promise<DesiredServer> {
  const namespace = server.metadata.namespace ?? DEFAULT_NAMESPACE
  const values = new ValueResolver({ secrets, configMaps, imported, secretsFolder, env }, namespace)
  return { server, folder, inputs: await resolveInputs(server, folder, values, digestKey) }
}

function placed(
  problem: Problem,
  server: DesiredServer['server'],
  manifests: readonly PlacedManifest[],
): Problem {
  const place = manifests.find(({ manifest }) => manifest === server)
  const named = { ...problem, message: `${server.metadata.name}: ${problem.message}` }
  return place ? placedIn(place, named) : named
}
