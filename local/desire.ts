/** Computes the desired state from the manifests: one gateway, and the servers and scripts that it selects. Pure. */

import type { ConfigMapValues } from '../core/catalog/endpoint.ts'
import { DEFAULT_NAMESPACE, type ResolveProblem, resolve } from '../core/catalog/resolve.ts'
import type { GivenScript } from '../core/catalog/resolve-scripts.ts'
import type { RouterConfig } from '../core/catalog/router-config.ts'
import { inspectScript } from '../core/code/inspect-script.ts'
import type { Problem } from '../core/errors.ts'
import { placedIn } from '../core/manifests.ts'
import type { ConfigMap } from '../crds/config-map.ts'
import type { McpGateway } from '../crds/gateway.ts'
import type { Secret } from '../crds/secret.ts'
import type { McpServer } from '../crds/server.ts'
import type { PlacedManifest } from './files.ts'

export type PlacedServer = { server: McpServer; folder: string }

export type Desired = {
  gateway?: McpGateway
  /** Why no gateway could be chosen. */
  undecided?: Problem
  /** All servers of the manifests; names are unique. */
  servers: McpServer[]
  /** All reviewed scripts of the manifests. */
  scripts: GivenScript[]
  /** The servers to run: selected, accepted and not suspended. `folder`: the one that their paths are relative to. */
  running: PlacedServer[]
  secrets: Secret[]
  configMaps: ConfigMap[]
  /** The router config from the manifests alone, without the observed state of any server. */
  config: RouterConfig
  problems: Problem[]
}

export type DesireOptions = {
  /** The desired state so far. */
  current?: Desired
  /** Problems of invalid manifests that may be meant as an McpGateway. */
  broken?: readonly Problem[]
  /** As in ResolveInput. */
  assumed?: boolean
  /** As in ResolveInput. */
  runsScripts?: boolean
}

/**
 * `gatewayName` selects one of several gateways. Without it, there must be at most one gateway, and `broken` must be empty. If no gateway
 * can be chosen, or the one of `current` has disappeared, that of `current` stays. `now`: milliseconds since the epoch.
 */
export function desire(
  manifests: readonly PlacedManifest[],
  gatewayName: string | undefined,
  now: number,
  { current, broken = [], assumed, runsScripts }: DesireOptions = {},
): Desired {
  const { gateway, undecided } = chooseGateway(manifests, gatewayName, current, broken)
  const problems: Problem[] = undecided ? [undecided] : []
  const places = onePerName(manifests, gateway, problems)
  const servers = [...places.values()].map(({ server }) => server)
  const scripts = manifests.flatMap(({ manifest }) =>
    manifest.kind === 'McpScript' ? [{ manifest, inspected: inspectScript(manifest.spec.code) }] : [],
  )
  const configMaps = manifests.flatMap(({ manifest }) => (manifest.kind === 'ConfigMap' ? [manifest] : []))
  const resolved = resolve({
    gateway,
    servers,
    scripts,
    observed: new Map(),
    configMaps: configMapValues(configMaps, gateway),
    placement: 'local',
    assumed,
    runsScripts,
    now,
  })
  problems.push(...resolved.problems.map(problem => locate(problem, manifests, gateway)))
  // Nothing is observed here, so `resolve` gives each server that should run the state `starting`.
  const running = resolved.config.servers.flatMap(({ name, status }) => {
    const place = places.get(name)
    return place && status.state === 'starting' ? [place] : []
  })
  return {
    gateway,
    undecided,
    servers,
    scripts,
    running,
    secrets: manifests.flatMap(({ manifest }) => (manifest.kind === 'Secret' ? [manifest] : [])),
    configMaps,
    config: resolved.config,
    problems,
  }
}

/** The data of the ConfigMaps in the gateway's namespace, for `resolve`. */
export function configMapValues(
  configMaps: readonly ConfigMap[],
  gateway: McpGateway | undefined,
): ConfigMapValues {
  const namespace = gateway?.metadata.namespace ?? DEFAULT_NAMESPACE
  const inNamespace = configMaps.filter(
    ({ metadata }) => (metadata.namespace ?? DEFAULT_NAMESPACE) === namespace,
  )
  return new Map(inNamespace.map(({ metadata, data = {} }) => [metadata.name, data]))
}

/** The gateway to serve; neither `gateway` nor `undecided` if there is none and none is wanted. */
function chooseGateway(
  manifests: readonly PlacedManifest[],
  wanted: string | undefined,
  current: Desired | undefined,
  broken: readonly Problem[],
): { gateway?: McpGateway; undecided?: Problem } {
  const gateways = manifests.flatMap(({ manifest }) => (manifest.kind === 'McpGateway' ? [manifest] : []))
  const byName = (name: string | undefined) => gateways.find(({ metadata }) => metadata.name === name)
  const names = gateways.map(({ metadata }) => metadata.name).join(', ')
  const found = byName(wanted)
  const last = current?.gateway
  if (wanted === undefined && broken.length === 0) {
    // Without its McpGateway, what it restricts would be open to everybody.
    if (last && gateways.length === 0) return { gateway: last, undecided: gone(last.metadata.name) }
    if (gateways.length <= 1) return { gateway: gateways[0] }
  }
  if (found) return { gateway: found }
  const stays = current ? `; ${last ? `"${last.metadata.name}"` : 'the default one'} is still served` : ''
  return {
    gateway: byName(last?.metadata.name) ?? last,
    undecided: whyUndecided(names, wanted, broken[0], stays, current === undefined),
  }
}

function gone(name: string): Problem {
  const message = `the McpGateway "${name}" is gone: its last state is kept until the gateway is restarted`
  return { reason: 'GatewayNotFound', message }
}

/** `stays`: the end of the message that says which gateway is still served. `isFirst`: none is served yet. */
function whyUndecided(
  names: string,
  wanted: string | undefined,
  broken: Problem | undefined,
  stays: string,
  isFirst: boolean,
): Problem {
  if (broken) {
    const refused =
      '; without this McpGateway everybody could call every tool, so nothing is served: correct the manifest or remove it'
    return { ...broken, message: `${broken.message}${isFirst ? refused : stays}` }
  }
  if (wanted === undefined)
    return {
      reason: 'GatewayAmbiguous',
      message: `several McpGateways are given: choose one of ${names} with --gateway${stays}`,
    }
  return {
    reason: 'GatewayNotFound',
    message: `there is no McpGateway "${wanted}"; ${names ? `there are ${names}` : 'none is given'}${stays}`,
  }
}

/**
 * The servers by name: those in the gateway's namespace, or without a gateway those of all namespaces, where names can repeat: then the first
 * is used, and a problem is added for each other one.
 */
function onePerName(
  manifests: readonly PlacedManifest[],
  gateway: McpGateway | undefined,
  problems: Problem[],
) {
  const places = new Map<string, PlacedServer>()
  const servers = manifests.flatMap(place =>
    place.manifest.kind === 'McpServer' ? [{ server: place.manifest, place }] : [],
  )
  const candidates = gateway
    ? servers.filter(({ server }) => namespaceOf(server) === namespaceOf(gateway))
    : servers
  for (const { server, place } of candidates) {
    const { name } = server.metadata
    if (!places.has(name)) places.set(name, { server, folder: place.folder })
    else {
      const message = `another namespace also has an McpServer "${name}": add an McpGateway, or rename one of them`
      problems.push(placedIn(place, { reason: 'DuplicateName', message, path: 'metadata.name' }))
    }
  }
  return places
}

function namespaceOf({ metadata }: PlacedManifest['manifest']): string {
  return metadata.namespace ?? DEFAULT_NAMESPACE
}

/** The problem with the place of its manifest. Without a gateway, the first server of a name is used, whatever its namespace. */
function locate(
  { kind, name, ...found }: ResolveProblem,
  manifests: readonly PlacedManifest[],
  gateway: McpGateway | undefined,
): Problem {
  const problem = { ...found, message: `${name}: ${found.message}` }
  const place = manifests.find(
    ({ manifest }) =>
      manifest.kind === kind &&
      manifest.metadata.name === name &&
      (!gateway || namespaceOf(manifest) === namespaceOf(gateway)),
  )
  return place ? placedIn(place, problem) : problem
}
