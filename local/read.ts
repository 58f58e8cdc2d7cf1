/** Reads the paths once: from files to the servers to run, with all their values. */
import { reportAccess } from '../core/catalog/access-report.ts'
import { DEFAULT_NAMESPACE } from '../core/catalog/resolve.ts'
import type { Problem } from '../core/errors.ts'
import { placedIn } from '../core/manifests.ts'
import { REASON } from '../crds/conditions.ts'
import type { McpGateway } from '../crds/gateway.ts'
import type { McpScript } from '../crds/script.ts'
import type { McpServer } from '../crds/server.ts'
import { readTokens } from '../router/access/named-tokens.ts'
import type { DesiredServer } from './children.ts'
import { type Desired, desire, type PlacedServer } from './desire.ts'
import type { Loaded, ManifestFiles, PlacedManifest } from './files.ts'
import { resolveInputs } from './inputs.ts'
import { ValueResolver } from './secrets.ts'
import { resolveUserSecrets } from './user-secrets.ts'

export type ReadOptions = {
  files: ManifestFiles
  env: Readonly<Record<string, string>>
  gateway?: string
  /** The previous result. */
  current?: Desired
  secretsFolder?: string
  /** As in ResolveInput. */
  assumed?: boolean
  /** As in ResolveInput. */
  runsScripts?: boolean
  /** A random key of this process, for digests of values. */
  digestKey: Buffer
  now: number
}

export type Reading = {
  desired: Desired
  servers: DesiredServer[]
  manifests: readonly PlacedManifest[]
  /** The API key of the gateway's embeddings service, if it has one. */
  embeddingsKey?: string
  /** The values of the Secret with the named tokens of callers, if the gateway has one. */
  callerTokens?: Record<string, string>
  /** All errors, with file, line and field. */
  problems: Problem[]
  /** What is useless in the gateway's rules, as far as the manifests alone say it: the router logs that, and more. */
  access: Problem[]
  /** Remarks that are not errors. */
  notes: Problem[]
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
    inputs.problems.map(problem => placed(problem, server, loaded.manifests)),
  )
  const embeddings = await embeddingsKey(desired, loaded, options)
  const callers = await callerTokens(desired, loaded, options)
  return {
    desired,
    servers,
    manifests,
    embeddingsKey: embeddings.value,
    callerTokens: callers.values,
    problems: [
      ...loaded.problems,
      ...desired.problems,
      ...missing,
      ...embeddings.problems,
      ...callers.problems,
    ],
    access: accessFindings(desired, manifests, callers.values),
    notes: loaded.notes,
    files: loaded.files,
  }
}

/** What is useless in the gateway's rules, with the place in its manifest. `tokens`: undefined if they are not known. */
export function accessFindings(
  { config, gateway }: Pick<Desired, 'config' | 'gateway'>,
  manifests: readonly PlacedManifest[],
  tokens?: Record<string, string>,
): Problem[] {
  if (!gateway) return []
  const facts = { ...config, catalogs: new Map(), tokens: tokens && new Set(Object.keys(tokens)) }
  return reportAccess(facts).findings.map(finding => placed(finding, gateway, manifests))
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

async function embeddingsKey(
  desired: Desired,
  loaded: Loaded,
  options: ReadOptions,
): Promise<{ value?: string; problems: Problem[] }> {
  const { gateway } = desired
  const ref = gateway?.spec.search.embeddings?.secretRef
  if (!gateway || !ref) return { problems: [] }
  const found = await valuesFor(gateway, desired, loaded, options).secret(ref)
  if ('value' in found) return { value: found.value, problems: [] }
  const problem = { ...found.problem, path: 'spec.search.embeddings.secretRef' }
  return { problems: ref.optional ? [] : [placed(problem, gateway, loaded.manifests)] }
}

async function callerTokens(
  desired: Desired,
  loaded: Loaded,
  options: ReadOptions,
): Promise<{ values?: Record<string, string>; problems: Problem[] }> {
  const { gateway } = desired
  const name = gateway?.spec.auth?.tokens?.secretName
  if (!gateway || name === undefined) return { problems: [] }
  const path = 'spec.auth.tokens.secretName'
  const values = await valuesFor(gateway, desired, loaded, options).wholeSecret(name)
  const problem = values
    ? unusableTokens(values)
    : {
        reason: REASON.secretNotFound,
        message: `there is no Secret "${name}": nobody is admitted by a token`,
      }
  return { values, problems: problem ? [placed({ ...problem, path }, gateway, loaded.manifests)] : [] }
}

function unusableTokens(values: Record<string, string>): Problem | undefined {
  const { unusable } = readTokens(values)
  if (unusable.length === 0) return undefined
  return {
    reason: REASON.invalid,
    message: `the tokens of ${unusable.join(', ')} are not usable: each needs 32 characters or more, or sha256: and 64 hexadecimal digits`,
  }
}

/** The problem with the place of its manifest, as far as it is known. */
export function placed(
  problem: Problem,
  about: McpServer | McpGateway | McpScript,
  manifests: readonly PlacedManifest[],
): Problem {
  const place = manifests.find(({ manifest }) => manifest === about)
  const named = { ...problem, message: `${about.metadata.name}: ${problem.message}` }
  return place ? placedIn(place, named) : named
}
