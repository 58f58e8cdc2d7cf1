/** Plans a gateway: its routers, what they may read, what they are fed, and what is to be said of it. Pure. */
import { acceptGateway } from '../../core/catalog/accept.ts'
import { secretsOf } from '../../core/catalog/endpoint.ts'
import type { RouterFeed } from '../../core/catalog/feed.ts'
import { type Resolved, resolve } from '../../core/catalog/resolve.ts'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import type { Problem } from '../../core/errors.ts'
import type { KubeObject } from '../../core/kube/object.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import { autoscaler, disruptionBudget, standingReplicas } from './availability.ts'
import { refusedProblem, takenProblem } from './conditions.ts'
import { deployment } from './deployment.ts'
import { feedObject } from './feed-object.ts'
import { gatewayStatus, invalidGatewayStatus, refusedGatewayStatus } from './gateway-status.ts'
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
import { routerScale, routerTemplate } from './router.ts'
import { gatewayService } from './service.ts'
import { revisionOf } from './template.ts'

/** What the schema lets through unseen ends up in these. */
const FREE_FORM = {
  HorizontalPodAutoscaler: 'spec.router.autoscaling',
  Deployment: 'spec.router.pod',
  Service: 'spec.router.service',
}

/** A gateway that is not accepted keeps what it has. */
export function planGateway(world: GatewayWorld): GatewayPlan {
  const { gateway } = world
  const references = indexReferences(world.references)
  const resolved = resolveIn(world, references)
  const { config } = resolved
  const told = [...missingGatewayReferences(gateway, references), ...acceptGateway(gateway)]
  const refusals = [
    ...world.taken.map(takenProblem),
    ...(world.refused ? [refusedProblem(world.refused, FREE_FORM)] : []),
  ]
  if (refusals.length > 0) {
    const status = refusedGatewayStatus(world, config, refusals)
    return { objects: [], secrets: [], keep: true, status, problems: [...refusals, ...told], config }
  }
  const routers = routersOf(world)
  const readable = [serviceAccount(gateway), ...feeding(world, references, config)]
  return {
    objects: [...readable, ...routers.objects],
    secrets: [sessionKey(gateway)],
    status: gatewayStatus(world, config, routers.revision, told),
    problems: told,
    ...(resolved.after !== undefined && { afterMs: resolved.after }),
    config,
  }
}

/** For one that could not be read. */
export function planInvalidGateway(problems: readonly Problem[], generation: number): InvalidGatewayPlan {
  const status = invalidGatewayStatus(problems, generation)
  return { objects: [], secrets: [], keep: true, status, problems: [...problems] }
}

/** There is no config where there is no gateway to make it of. */
export type InvalidGatewayPlan = Omit<GatewayPlan, 'config'>

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

/** What routers may read comes before the feed that names it. */
function feeding(
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
  const named = [...servers.flatMap(({ endpoint }) => secretsOf(endpoint)), ...(key ? [key.name] : [])]
  const secrets = [...new Set(named)].sort()
  const versions = secrets.flatMap(name => {
    const version = references.get(`Secret/${name}`)?.resourceVersion
    return version === undefined ? [] : [[name, version] as const]
  })
  const feed: RouterFeed = { config, slices: Object.fromEntries(sets), secrets: Object.fromEntries(versions) }
  const names = sets.flatMap(([name, { parts }]) => sliceNames(name, parts)).sort()
  return [role(gateway, names, secrets), roleBinding(gateway), feedObject(gateway, feed)]
}

function routersOf({ gateway, settings, deployment: standing }: GatewayWorld) {
  const { name: instance, namespace } = gateway.metadata
  const { replicas: fixed, min, max } = routerScale(gateway)
  const replicas = fixed ?? standingReplicas(standing, { min, max })
  const scaled = { name: gatewayObjectName(instance), namespace, component: 'router' as const, instance }
  const template = routerTemplate(gateway, settings)
  const objects: KubeObject[] = [
    ...(settings.networkPolicies ? [gatewayPolicy(gateway)] : []),
    gatewayService(gateway),
    ...(max > 1 ? [disruptionBudget(scaled)] : []),
    deployment({ ...scaled, replicas, startSeconds: ROUTER_START_SECONDS, template }),
    ...(fixed === undefined ? [autoscaler(scaled, { min, max }, gateway.spec.router.autoscaling)] : []),
  ]
  return { objects, revision: revisionOf(template) }
}

function sessionKey({ metadata: { name, namespace = 'default' } }: McpGateway): EnsuredSecret {
  return { name: keysName(name), namespace, labels: labelsOf('router', name), keys: [SESSION_KEY] }
}
