/** Plans a gateway: its routers, their RBAC and their feed. Pure. */
import { secretsOf } from '../../core/catalog/endpoint.ts'
import type { RouterFeed } from '../../core/catalog/feed.ts'
import { hasInstances } from '../../core/catalog/instances.ts'
import { type Resolved, resolve } from '../../core/catalog/resolve.ts'
import type { RouterConfig, RouterServer, UserSecret } from '../../core/catalog/router-config.ts'
import { type RouterScale, routerScale } from '../../core/catalog/router-scale.ts'
import { selects } from '../../core/catalog/select.ts'
import type { Problem } from '../../core/errors.ts'
import type { KubeObject } from '../../core/kube/object.ts'
import { REASON } from '../../crds/conditions.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import { DEFAULT_USER_HEADERS } from '../../crds/server-auth.ts'
import { autoscaler, disruptionBudget, replicasWithin } from './availability.ts'
import { deployment } from './deployment.ts'
import { exposureObjects } from './exposure.ts'
import { feedObject } from './feed-object.ts'
import { fitFeed } from './fit-feed.ts'
import {
  ANNOTATION,
  gatewayObjectName,
  keysName,
  LOGIN_KEY,
  labelsOf,
  SESSION_KEY,
  sliceNames,
} from './names.ts'
import { gatewayPolicy } from './network-policy.ts'
import { observedOf } from './observation.ts'
import { gatewayPermission } from './permitted.ts'
import type { EnsuredSecret, GatewayPlan, GatewayWorld } from './plan.ts'
import { ROUTER_START_SECONDS } from './probes.ts'
import { role, roleBinding, serviceAccount } from './rbac.ts'
import {
  connectionInputs,
  contentDigest,
  gatewayReferences,
  indexReferences,
  missingGatewayReferences,
  type ReferenceIndex,
} from './references.ts'
import { routerTemplate } from './router-pods.ts'
import { adminService, gatewayService, peersService } from './service.ts'
import { shutdownOf } from './shutdown.ts'
import { revisionOf } from './template.ts'
import { reviewProblems } from './token-review.ts'

const NO_ROUTERS = { replicas: 0, min: 0, max: 0 }

/** A gateway that is not accepted keeps its address but has no routers: it must not serve without the protection it asks for. */
export function planGateway(world: GatewayWorld): GatewayPlan {
  const { gateway } = world
  const references = indexReferences(world.references)
  const { config: whole, problems, after } = resolveIn(world, references)
  const { config, feed, problems: tooLarge } = fitFeed(whole, config => feedOf(world, references, config))
  const refusals = problems
    .filter(({ kind }) => kind === 'McpGateway')
    .map(({ kind: _, name: __, ...problem }) => problem)
  const routers = routersOf(world, config, refusals.length > 0 ? NO_ROUTERS : routerScale(gateway))
  return {
    objects: [
      serviceAccount(gateway),
      // The Role comes before the feed: routers must be allowed to read what the feed names.
      role(gateway, slicesIn(world, config), secretsIn(world, config)),
      roleBinding(gateway),
      feedObject(gateway, feed),
      ...routers.objects,
      ...exposureObjects(gateway),
    ],
    secrets: [routerKeys(gateway)],
    refusals,
    warnings: [...missingGatewayReferences(gateway, references), ...leftOut(problems), ...tooLarge],
    ...(after !== undefined && { afterMs: after }),
    config,
    revision: routers.revision,
  }
}

/** Servers that this gateway cannot serve, though they are accepted. */
function leftOut(problems: Resolved['problems']): Problem[] {
  return problems
    .filter(({ reason }) => reason === REASON.callersUnknown || reason === REASON.exchangeNotAllowed)
    .map(({ name, reason, message }) => ({
      reason,
      path: 'spec.servers',
      message: `McpServer ${name} is left out: ${message}`,
    }))
}

function resolveIn(world: GatewayWorld, references: ReferenceIndex): Resolved {
  const { gateway, servers, scripts, descriptionTokens, settings, now } = world
  const { selector } = gateway.spec.servers
  const selected = servers.filter(({ metadata }) => selects(selector, metadata.labels))
  const observed = servers.map(server => {
    const observation = { ...observedOf(server), inputs: connectionInputs(server, references) }
    return [server.metadata.name, observation] as const
  })
  // ConfigMaps that the gateway itself names decide who is admitted. Once one is deleted, its last content must no longer count.
  const ofGateway = new Set(gatewayReferences(gateway).map(({ name }) => name))
  const configMaps = world.references.flatMap(({ kind, name, exists, values }) =>
    kind === 'ConfigMap' && values && (exists || !ofGateway.has(name)) ? [[name, values] as const] : [],
  )
  return resolve({
    gateway,
    servers,
    scripts,
    observed: new Map(observed),
    descriptionTokens,
    configMaps: new Map(configMaps),
    userSecrets: userSecretsOf(world, references),
    placement: 'cluster',
    refusals: [...gatewayPermission(gateway, selected, settings), ...reviewProblems(gateway, settings)],
    now,
  })
}

/** The Secrets of users, by server name. A Secret whose content has not been read yet is added by the next plan. */
function userSecretsOf(
  { servers, userSecrets = new Map() }: GatewayWorld,
  references: ReferenceIndex,
): Map<string, UserSecret[]> {
  const all = servers.map(server => {
    const { name } = server.metadata
    const hasPods = hasInstances(server)
    const headers = hasPods ? [] : (server.spec.auth?.perUser?.secrets?.headers ?? DEFAULT_USER_HEADERS)
    const secrets = (userSecrets.get(name) ?? []).flatMap(({ subject, name }) => {
      const found = references.get(`Secret/${name}`)
      const revision = found?.exists ? contentDigest(found) : undefined
      if (!found || revision === undefined) return []
      const lacks = headers.find(({ key }) => !Object.hasOwn(found.digests, key))?.key
      // If users have pods, only the user's pod reads the Secret, and routers need no access to it.
      return [{ subject, ...(!hasPods && { name }), revision, ...(lacks !== undefined && { lacks }) }]
    })
    return [name, secrets] as const
  })
  return new Map(all)
}

function feedOf(world: GatewayWorld, references: ReferenceIndex, config: RouterConfig): RouterFeed {
  const tokens = config.access.auth?.tokens?.secretName
  const versions = secretsIn(world, config).flatMap(name => {
    const found = references.get(`Secret/${name}`)
    const version = name === tokens && !found?.exists ? undefined : contentDigest(found)
    return version === undefined ? [] : [[name, version] as const]
  })
  return {
    config,
    slices: Object.fromEntries(setsIn(world, config)),
    secrets: Object.fromEntries(versions),
  }
}

function setsIn({ slices }: GatewayWorld, { servers }: RouterConfig) {
  return servers.flatMap(({ name }) => {
    const set = slices.get(name)
    return set ? [[name, set] as const] : []
  })
}

/** Names of the ConfigMaps with the slices of all servers. */
function slicesIn(world: GatewayWorld, config: RouterConfig): string[] {
  return setsIn(world, config)
    .flatMap(([name, { parts }]) => sliceNames(name, parts))
    .sort()
}

/** Names of all Secrets that routers read. */
function secretsIn({ loginSecrets = [] }: GatewayWorld, { servers, search, access }: RouterConfig): string[] {
  const embeddingsKey = search.embeddings?.secret
  const tokens = access.auth?.tokens?.secretName
  const named = [
    ...servers.flatMap(({ endpoint }) => secretsOf(endpoint)),
    ...servers.flatMap(namesOfUserSecrets),
    ...loginSecrets,
    ...(access.auth?.jwt ?? []).flatMap(({ login }) => login?.clientSecret?.name ?? []),
    ...(embeddingsKey ? [embeddingsKey.name] : []),
    ...(tokens === undefined ? [] : [tokens]),
  ]
  return [...new Set(named)].sort()
}

function namesOfUserSecrets({ users }: RouterServer): string[] {
  const { credentials } = users ?? {}
  return credentials?.kind === 'secrets' ? credentials.secrets.flatMap(({ name }) => name ?? []) : []
}

/**
 * The objects of the routers, and the revision of their pods. There is no Deployment until the ServiceAccount exists, whose uid is part of the
 * pod template. If it is deleted, the pods keep the last uid.
 */
function routersOf(
  { gateway, settings, deployment: current, serviceAccount }: GatewayWorld,
  { servers }: RouterConfig,
  { replicas: fixed, min, max }: RouterScale,
) {
  const { name: instance, namespace } = gateway.metadata
  const replicas = fixed ?? replicasWithin(current, { min, max })
  const scaled = { name: gatewayObjectName(instance), namespace, component: 'router' as const, instance }
  const account =
    serviceAccount ?? current?.spec?.template?.metadata?.annotations?.[ANNOTATION.serviceAccount]
  const shutdown = shutdownOf(servers.map(({ limits }) => limits.callTimeoutMs))
  const template =
    account === undefined ? undefined : routerTemplate(gateway, settings, { account, shutdown })
  const repeats = fixed === undefined ? current : undefined
  const parts = { ...scaled, replicas, repeats, startSeconds: ROUTER_START_SECONDS }
  const objects: KubeObject[] = [
    ...(settings.networkPolicies ? [gatewayPolicy(gateway, settings)] : []),
    gatewayService(gateway),
    adminService(gateway),
    peersService(gateway),
    ...(max > 1 ? [disruptionBudget(scaled)] : []),
    ...(template ? [deployment({ ...parts, template })] : []),
    ...(fixed === undefined ? [autoscaler(scaled, { min, max }, gateway.spec.router.autoscaling)] : []),
  ]
  return { objects, revision: template && revisionOf(template) }
}

/** The Secret with the keys of the routers. */
function routerKeys({ metadata: { name, namespace = 'default' } }: McpGateway): EnsuredSecret {
  return { name: keysName(name), namespace, labels: labelsOf('router', name), keys: [SESSION_KEY, LOGIN_KEY] }
}
