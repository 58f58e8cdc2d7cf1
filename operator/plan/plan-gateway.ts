/** Plans a gateway: its routers, their RBAC and their feed. Pure. */
import { secretsOf } from '../../core/catalog/endpoint.ts'
import type { RouterFeed } from '../../core/catalog/feed.ts'
import { type Resolved, resolve } from '../../core/catalog/resolve.ts'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import type { KubeObject } from '../../core/kube/object.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import { autoscaler, disruptionBudget, standingReplicas } from './availability.ts'
import { deployment } from './deployment.ts'
import { feedObject } from './feed-object.ts'
import { gatewayObjectName, keysName, labelsOf, SESSION_KEY, sliceNames } from './names.ts'
import { gatewayPolicy } from './network-policy.ts'
import { observedOf } from './observation.ts'
import type { EnsuredSecret, GatewayPlan, GatewayWorld } from './plan.ts'
import { ROUTER_START_SECONDS } from './probes.ts'
import { role, roleBinding, serviceAccount } from './rbac.ts'
import {
  connectionInputs,
  indexReferences,
  missingGatewayReferences,
  type ReferenceIndex,
} from './references.ts'
import { type RouterScale, routerScale, routerTemplate } from './router-pods.ts'
import { adminService, gatewayService } from './service.ts'
import { revisionOf } from './template.ts'

/** No router runs. */
const NONE = { replicas: 0, min: 0, max: 0 }

/** A gateway that is not accepted keeps its address but has no routers: it must not serve without the protection it asks for. */
export function planGateway(world: GatewayWorld): GatewayPlan {
  const { gateway } = world
  const references = indexReferences(world.references)
  const { config, problems, after } = resolveIn(world, references)
  const refusals = problems
    .filter(({ kind }) => kind === 'McpGateway')
    .map(({ kind: _, name: __, ...problem }) => problem)
  const routers = routersOf(world, refusals.length > 0 ? NONE : routerScale(gateway))
  return {
    objects: [serviceAccount(gateway), ...feedObjects(world, references, config), ...routers.objects],
    secrets: [sessionKey(gateway)],
    refusals,
    warnings: missingGatewayReferences(gateway, references),
    ...(after !== undefined && { afterMs: after }),
    config,
    revision: routers.revision,
  }
}

function resolveIn(world: GatewayWorld, references: ReferenceIndex): Resolved {
  const { gateway, servers, descriptionTokens, now } = world
  const observed = servers.map(server => {
    const observation = { ...observedOf(server), inputs: connectionInputs(server, references) }
    return [server.metadata.name, observation] as const
  })
  const configMaps = world.references.flatMap(({ kind, name, values }) =>
    kind === 'ConfigMap' && values ? [[name, values] as const] : [],
  )
  return resolve({
    gateway,
    servers,
    observed: new Map(observed),
    descriptionTokens,
    configMaps: new Map(configMaps),
    placement: 'cluster',
    now,
  })
}

/** The Role comes first: routers must be allowed to read what the feed names. */
function feedObjects(
  { gateway, slices }: GatewayWorld,
  references: ReferenceIndex,
  config: RouterConfig,
): KubeObject[] {
  const { servers, search } = config
  const sets = servers.flatMap(({ name }) => {
    const set = slices.get(name)
    return set ? [[name, set] as const] : []
  })
  const key = search.embeddings?.secret
  const tokens = config.access.auth?.tokens?.secretName
  const named = [
    ...servers.flatMap(({ endpoint }) => secretsOf(endpoint)),
    ...(key ? [key.name] : []),
    ...(tokens === undefined ? [] : [tokens]),
  ]
  const secrets = [...new Set(named)].sort()
  const versions = secrets.flatMap(name => {
    const version = references.get(`Secret/${name}`)?.resourceVersion
    return version === undefined ? [] : [[name, version] as const]
  })
  const feed: RouterFeed = { config, slices: Object.fromEntries(sets), secrets: Object.fromEntries(versions) }
  const names = sets.flatMap(([name, { parts }]) => sliceNames(name, parts)).sort()
  return [role(gateway, names, secrets), roleBinding(gateway), feedObject(gateway, feed)]
}

function routersOf(
  { gateway, settings, deployment: standing }: GatewayWorld,
  { replicas: fixed, min, max }: RouterScale,
) {
  const { name: instance, namespace } = gateway.metadata
  const replicas = fixed ?? standingReplicas(standing, { min, max })
  const scaled = { name: gatewayObjectName(instance), namespace, component: 'router' as const, instance }
  const template = routerTemplate(gateway, settings)
  const objects: KubeObject[] = [
    ...(settings.networkPolicies ? [gatewayPolicy(gateway, settings)] : []),
    gatewayService(gateway),
    adminService(gateway),
    ...(max > 1 ? [disruptionBudget(scaled)] : []),
    deployment({ ...scaled, replicas, startSeconds: ROUTER_START_SECONDS, template }),
    ...(fixed === undefined ? [autoscaler(scaled, { min, max }, gateway.spec.router.autoscaling)] : []),
  ]
  return { objects, revision: revisionOf(template) }
}

function sessionKey({ metadata: { name, namespace = 'default' } }: McpGateway): EnsuredSecret {
  return { name: keysName(name), namespace, labels: labelsOf('router', name), keys: [SESSION_KEY] }
}
