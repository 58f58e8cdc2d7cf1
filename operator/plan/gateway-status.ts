/** The status of a gateway: URL, servers, tools and their tokens, routers, conditions. Pure. */
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import type { Problem } from '../../core/errors.ts'
import { CONDITION, REASON } from '../../crds/conditions.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import type { McpServer } from '../../crds/server.ts'
import { accessStatus } from './access-status.ts'
import {
  accepted,
  deniedVerdict,
  notAccepted,
  notReady,
  ready,
  refusedProblem,
  takenProblem,
  type Verdict,
} from './conditions.ts'
import { gatewayObjectName } from './names.ts'
import type { GatewayPlan, GatewayPlanStatus, GatewayWorld } from './plan.ts'
import { rolloutTrouble } from './rollout.ts'
import { routerScale } from './router-pods.ts'

/** maxItems of `status.routers`. */
export const MAX_ROUTERS = 100

/** Fields whose content the schema does not validate, by the kind made from them. */
const FREE_FORM = {
  HorizontalPodAutoscaler: 'spec.router.autoscaling',
  Deployment: 'spec.router.pod',
  Service: 'spec.router.service',
}

/** `world` as observed after the plan was applied. */
export function gatewayStatus(world: GatewayWorld, plan: GatewayPlan): GatewayPlanStatus {
  const generation = generationOf(world.gateway)
  const refusals = [
    ...plan.refusals,
    ...world.taken.map(takenProblem),
    ...(world.refused ? [refusedProblem(world.refused, FREE_FORM)] : []),
  ]
  if (refusals.length > 0) {
    return { ...standing(world, plan.config), conditions: notAccepted(refusals, generation) }
  }
  const trouble = troubleOf(world, plan)
  const condition = trouble ? notReady(trouble, generation) : ready('It answers at its URL.', generation)
  const { access, conditions } = accessStatus(world, plan.config, generation)
  return {
    ...standing(world, plan.config),
    ...(access.length > 0 && { access }),
    conditions: [accepted(plan.warnings, generation), condition, ...conditions],
  }
}

/** The status of a manifest that could not be parsed. */
export function invalidGatewayStatus(problems: readonly Problem[], generation: number): GatewayPlanStatus {
  return { observedGeneration: generation, conditions: notAccepted(problems, generation, REASON.invalid) }
}

function standing(world: GatewayWorld, config: RouterConfig): Omit<GatewayPlanStatus, 'conditions'> {
  const { gateway, generation } = world
  const { name, namespace } = gateway.metadata
  const selected = selectedServers(world, config)
  const visible = new Set(config.servers.filter(({ status }) => !status.hidden).map(server => server.name))
  const shown = selected.filter(({ metadata }) => visible.has(metadata.name))
  const routers = world.reports.toSorted((a, b) => (a.pod < b.pod ? -1 : 1)).slice(0, MAX_ROUTERS)
  return {
    observedGeneration: generationOf(gateway),
    url: `http://${gatewayObjectName(name)}.${namespace}.svc/mcp`,
    servers: { selected: selected.length, ready: selected.filter(isReady).length },
    tools: sum(shown.map(({ status }) => status?.tools?.count)),
    tokens: tokensOf(sum(shown.map(({ status }) => status?.tools?.tokens)), world.exposedTokens),
    ...(world.search && { search: world.search }),
    ...(generation !== undefined && { generation }),
    routers,
  }
}

/** `saved` may be negative. */
function tokensOf(direct: number, exposed: number | undefined): GatewayPlanStatus['tokens'] {
  if (exposed === undefined) return { direct }
  if (direct === 0) return { direct, exposed }
  return { direct, exposed, saved: `${(100 * (1 - exposed / direct)).toFixed(2)}%` }
}

function troubleOf(
  { gateway, deployment, pods, handshake, denied }: GatewayWorld,
  { config, revision }: GatewayPlan,
): Verdict | undefined {
  const { replicas, min } = routerScale(gateway)
  if (denied !== undefined) return deniedVerdict(denied)
  if (config.servers.length === 0) {
    const message =
      'No McpServer of this namespace matches spec.servers.selector: label one, or change the selector'
    return { reason: REASON.noServersSelected, message }
  }
  if (replicas === 0) {
    return { reason: REASON.noReplicas, message: 'No router runs: set spec.router.replicas to 1 or more' }
  }
  const trouble = rolloutTrouble({ deployment, pods, revision, wanted: replicas ?? min })
  if (trouble) return trouble
  if (!handshake) return { reason: REASON.starting, message: 'It has not answered at its URL yet' }
  if (handshake.ok) return undefined
  return { reason: REASON.unreachable, message: `It does not answer at its URL: ${handshake.message}` }
}

function selectedServers({ servers }: GatewayWorld, config: RouterConfig): McpServer[] {
  const names = new Set(config.servers.map(({ name }) => name))
  return servers.filter(({ metadata }) => names.has(metadata.name))
}

function isReady({ status }: McpServer): boolean {
  return (
    status?.conditions?.some(({ type, status }) => type === CONDITION.ready && status === 'True') ?? false
  )
}

function sum(counts: (number | undefined)[]): number {
  return counts.reduce<number>((total, count) => total + (count ?? 0), 0)
}

function generationOf({ metadata }: McpGateway): number {
  return metadata.generation ?? 0
}
