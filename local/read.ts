/** Reads the paths once, and returns the servers to run with all their values. */
import { reportAccess } from '../core/catalog/access-report.ts'
import { DEFAULT_NAMESPACE } from '../core/catalog/resolve.ts'
import type { Problem } from '../core/errors.ts'
import { placedIn } from '../core/manifests.ts'
import type { McpGateway } from '../crds/gateway.ts'
import type { McpScript } from '../crds/script.ts'
import type { McpServer } from '../crds/server.ts'
import type { DesiredServer } from './children.ts'
import { type Desired, desire, type PlacedServer } from './desire.ts'
import type { Loaded, ManifestFiles, PlacedManifest } from './files.ts'
import { type GatewaySecrets, NO_SECRETS, readGatewaySecrets } from './gateway-secrets.ts'
import { resolveInputs } from './inputs.ts'
import { ValueResolver } from './secrets.ts'
import { resolveUserSecrets } from './user-secrets.ts'
import { withoutEffect } from './without-effect.ts'

export type ReadOptions = {
  files: ManifestFiles
  env: Readonly<Record<string, string>>
  /** Name of the gateway; needed only if there are several. */
  gateway?: string
  /** The previous result. */
  current?: Desired
  /** As in ValuePlaces. */
  secretsFolder?: string
  /** As in ResolveInput. */
  assumed?: boolean
  /** As in ResolveInput. */
  runsScripts?: boolean
  /** A random key of this process, for digests of values. */
  digestKey: Buffer
  /** Milliseconds since the epoch. */
  now: number
}

export type Reading = {
  desired: Desired
  servers: DesiredServer[]
  manifests: readonly PlacedManifest[]
  /** The Secrets that the gateway refers to. */
  secrets: GatewaySecrets
  /** All errors, with file, line and field. */
  problems: Problem[]
  /** Ineffective parts of the gateway's access rules that can be found without the servers' catalogs. The router logs all of them. */
  access: Problem[]
  /** Remarks that are not errors. */
  notes: Problem[]
  /** The files that were read. */
  files: string[]
}

/** Never throws: errors become problems. */
export async function readPaths(options: ReadOptions): Promise<Reading> {
  const loaded = await options.files.scan()
  const { manifests, brokenGateways } = loaded
  const { current, assumed, runsScripts } = options
  const desired = desire(manifests, options.gateway, options.now, {
    current,
    assumed,
    runsScripts,
    broken: brokenGateways,
  })
  const servers = await Promise.all(desired.running.map(place => withInputs(place, desired, loaded, options)))
  const missing = servers.flatMap(({ server, inputs }) =>
    inputs.problems.map(problem => withLocation(problem, server, loaded.manifests)),
  )
  const { secrets, problems } = await gatewaySecrets(desired, loaded, options)
  return {
    desired,
    servers,
    manifests,
    secrets,
    problems: [...loaded.problems, ...desired.problems, ...missing, ...problems],
    access: accessFindings(desired, manifests, secrets.callerTokens),
    notes: [
      ...loaded.notes,
      ...withoutEffect(manifests, new Set<unknown>([desired.gateway, ...desired.servers])),
    ],
    files: loaded.files,
  }
}

/** Ineffective parts of the gateway's access rules, with their place in the manifest. `tokens`: the caller tokens by name, if they are known. */
export function accessFindings(
  { config, gateway }: Pick<Desired, 'config' | 'gateway'>,
  manifests: readonly PlacedManifest[],
  tokens?: Record<string, string>,
): Problem[] {
  if (!gateway) return []
  const facts = { ...config, catalogs: new Map(), tokens: tokens && new Set(Object.keys(tokens)) }
  return reportAccess(facts).findings.map(finding => withLocation(finding, gateway, manifests))
}

async function withInputs(
  { server, folder }: PlacedServer,
  desired: Desired,
  loaded: Loaded,
  options: ReadOptions,
): Promise<DesiredServer> {
  const values = valuesFor(server, desired, loaded, options)
  return {
    server,
    folder,
    inputs: await resolveInputs(server, folder, values, options.digestKey),
    users: resolveUserSecrets(server, desired.secrets, options.digestKey),
    knowsCallers: desired.config.access.auth !== undefined,
  }
}

/** A manifest may refer to Secrets and ConfigMaps of its own namespace only. */
function valuesFor(
  { metadata }: McpServer | McpGateway,
  { secrets, configMaps }: Desired,
  { imported }: Loaded,
  { secretsFolder, env }: ReadOptions,
): ValueResolver {
  const namespace = metadata.namespace ?? DEFAULT_NAMESPACE
  return new ValueResolver({ secrets, configMaps, imported, secretsFolder, env }, namespace)
}

async function gatewaySecrets(
  desired: Desired,
  loaded: Loaded,
  options: ReadOptions,
): Promise<{ secrets: GatewaySecrets; problems: Problem[] }> {
  const { gateway } = desired
  if (!gateway) return { secrets: NO_SECRETS, problems: [] }
  const { secrets, problems } = await readGatewaySecrets(
    gateway,
    valuesFor(gateway, desired, loaded, options),
  )
  return { secrets, problems: problems.map(problem => withLocation(problem, gateway, loaded.manifests)) }
}

/** Adds the name of the resource and, if known, the place of its manifest to a problem. */
export function withLocation(
  problem: Problem,
  about: McpServer | McpGateway | McpScript,
  manifests: readonly PlacedManifest[],
): Problem {
  const place = manifests.find(({ manifest }) => manifest === about)
  const named = { ...problem, message: `${about.metadata.name}: ${problem.message}` }
  return place ? placedIn(place, named) : named
}
