/** What the manifests ask for: one gateway and the servers that it selects. Pure. */
import { DEFAULT_NAMESPACE, type ResolveProblem, resolve } from '../core/catalog/resolve.ts'
import type { Problem } from '../core/errors.ts'
import type { ConfigMap } from '../crds/config-map.ts'
import type { McpGateway } from '../crds/gateway.ts'
import type { Secret } from '../crds/secret.ts'
import type { McpServer } from '../crds/server.ts'
import type { PlacedManifest } from './files.ts'

export type PlacedServer = { server: McpServer; folder: string }

export type Desired = {
  gateway?: McpGateway
  /** All servers of the manifests, each name once. */
  servers: McpServer[]
  /** Those that are selected, accepted and not suspended, with the folder that their paths stand on. */
  running: PlacedServer[]
  secrets: Secret[]
  configMaps: ConfigMap[]
  problems: Problem[]
}

/** `gatewayName` chooses among several gateways; without it there may be one at most. */
export function desire(
  manifests: readonly PlacedManifest[],
  gatewayName: string | undefined,
  now: number,
): Desired {
  const problems: Problem[] = []
  const gateway = chooseGateway(manifests, gatewayName, problems)
  const places = onePerName(manifests, gateway, problems)
  const servers = [...places.values()].map(({ server }) => server)
  const resolved = resolve({ gateway, servers, observed: new Map(), placement: 'local', now })
  problems.push(...resolved.problems.map(problem => locate(problem, manifests)))
  const running = resolved.config.servers.flatMap(({ name, status }) => {
    const place = places.get(name)
    return place && status.state === 'starting' ? [place] : []
  })
  return {
    gateway,
    servers,
    running,
    secrets: manifests.flatMap(({ manifest }) => (manifest.kind === 'Secret' ? [manifest] : [])),
    configMaps: manifests.flatMap(({ manifest }) => (manifest.kind === 'ConfigMap' ? [manifest] : [])),
    problems,
  }
}

function chooseGateway(
  manifests: readonly PlacedManifest[],
  wanted: string | undefined,
  problems: Problem[],
): McpGateway | undefined {
  const gateways = manifests.flatMap(({ manifest }) => (manifest.kind === 'McpGateway' ? [manifest] : []))
  const names = gateways.map(({ metadata }) => metadata.name).join(', ')
  if (wanted !== undefined) {
    const found = gateways.find(({ metadata }) => metadata.name === wanted)
    const message = `there is no McpGateway "${wanted}"${names && `: there are ${names}`}; every server is served`
    if (!found) problems.push({ reason: 'GatewayNotFound', message })
    return found
  }
  if (gateways.length > 1) {
    const message = `several McpGateways are given (${names}): choose one with --gateway; the first one is served`
    problems.push({ reason: 'GatewayAmbiguous', message })
  }
  return gateways[0]
}

/** Servers of different namespaces may share a name; on a laptop the gateway's own namespace wins, then the first. */
function onePerName(
  manifests: readonly PlacedManifest[],
  gateway: McpGateway | undefined,
  problems: Problem[],
) {
  const places = new Map<string, PlacedServer>()
  const namespace = gateway?.metadata.namespace ?? DEFAULT_NAMESPACE
  const servers = manifests.flatMap(({ manifest, ...place }) =>
    manifest.kind === 'McpServer' ? [{ server: manifest, place }] : [],
  )
  const own = ({ server }: { server: McpServer }) =>
    (server.metadata.namespace ?? DEFAULT_NAMESPACE) === namespace
  const ordered = gateway ? servers.filter(own) : servers
  for (const { server, place } of ordered) {
    const { name } = server.metadata
    if (!places.has(name)) places.set(name, { server, folder: place.folder })
    else
      problems.push({
        reason: 'DuplicateName',
        message: `McpServer "${name}" is in another namespace too: give a McpGateway, or rename one`,
        path: 'metadata.name',
        file: place.file,
        line: place.line,
        column: place.column,
      })
  }
  return places
}

function locate(problem: ResolveProblem, manifests: readonly PlacedManifest[]): Problem {
  const { kind, name, reason, message, path } = problem
  const found = manifests.find(({ manifest }) => manifest.kind === kind && manifest.metadata.name === name)
  return {
    reason,
    message: `${name}: ${message}`,
    path,
    file: found?.file,
    line: found?.line,
    column: found?.column,
  }
}
