/** The status of a gateway: URL, servers, tools and their tokens, routers, conditions. Pure. */
import type { RouterConfig, ServerState } from '../../core/catalog/router-config.ts'
import { routerScale } from '../../core/catalog/router-scale.ts'
import type { Problem } from '../../core/errors.ts'
import { sum } from '../../core/sum.ts'
import { CONDITION, REASON } from '../../crds/conditions.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import type { McpServer } from '../../crds/server.ts'
import { accessStatus } from './access-status.ts'
import {
  accepted,
  availability,
  deniedVerdict,
  notAccepted,
  notReady,
  progress,
  ready,
  refusedProblem,
  takenProblem,
  type Verdict,
} from './conditions.ts'
import { gatewayObjectName } from './names.ts'
import type { GatewayPlan, GatewayPlanStatus, GatewayWorld, RouterReport } from './plan.ts'
import { rolloutTrouble } from './rollout.ts'

const READY: Verdict = { reason: REASON.ready, message: 'It answers at its URL.' }
/** Reasons of an outage of a gateway that has no servers, whatever its routers do. */
const NO_SERVERS: readonly string[] = [REASON.noServersSelected, REASON.tooLarge]
/** A server that sleeps is woken by the next call. */
const SERVING_STATES: readonly ServerState[] = ['ready', 'asleep']
/** maxItems of `status.routers`. */
export const MAX_ROUTERS = 100

/** Fields whose content the schema does not validate, by the kind made from them. */
const FREE_FORM = {
  HorizontalPodAutoscaler: 'spec.router.autoscaling',
  Deployment: 'spec.router.pod',
  HTTPRoute: 'spec.router.expose.gatewayAPI',
  Ingress: 'spec.router.expose.ingress',
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
  const outage = outageOf(world, plan)
  if (refusals.length > 0) {
    // If the API server refused a change, the routers keep running; if the manifest itself is refused, there are none.
    const available = plan.refusals.length === 0 && outage === undefined
    return { ...fieldsOf(world, plan.config), conditions: notAccepted(refusals, generation, { available }) }
  }
  const podTrouble = troubleOfPods(world, plan)
  const trouble = outage && NO_SERVERS.includes(outage.reason) ? outage : (podTrouble ?? outage)
  const { access, conditions } = accessStatus(world, plan.config, generation)
  return {
    ...fieldsOf(world, plan.config),
    ...(access.length > 0 && { access }),
    conditions: [
      accepted(plan.warnings, generation),
      availability(outage, generation),
      progress(podTrouble, generation),
      trouble ? notReady(trouble, generation) : ready(READY, generation),
      ...conditions,
    ],
  }
}

/** The status of a manifest that could not be parsed. */
export function invalidGatewayStatus(problems: readonly Problem[], generation: number): GatewayPlanStatus {
  return {
    observedGeneration: generation,
    conditions: notAccepted(problems, generation, { reason: REASON.invalid }),
  }
}

/** Everything but the conditions. */
function fieldsOf(world: GatewayWorld, config: RouterConfig): Omit<GatewayPlanStatus, 'conditions'> {
  const { gateway, generation } = world
  const { name, namespace } = gateway.metadata
  const selected = selectedServers(world, config)
  const visible = new Set(config.servers.filter(({ status }) => !status.hidden).map(server => server.name))
  const shown = selected.filter(({ metadata }) => visible.has(metadata.name))
  const routers = world.reports
    .map(({ pod, generation }) => ({ pod, ...(generation !== undefined && { generation }) }))
    .sort((a, b) => (a.pod < b.pod ? -1 : 1))
    .slice(0, MAX_ROUTERS)
  return {
    observedGeneration: generationOf(gateway),
    url: `http://${gatewayObjectName(name)}.${namespace}.svc/mcp`,
    servers: { selected: selected.length, ready: selected.filter(isReady).length },
    tools: sum(shown.map(({ status }) => status?.tools?.count ?? 0)),
    tokens: tokensOf(sum(shown.map(({ status }) => status?.tools?.tokens ?? 0)), world.exposedTokens),
    ...(world.search && { search: world.search }),
    ...(generation !== undefined && { generation }),
    routers,
  }
}

/** `direct`: tokens of all tools in a plain list. `exposed`: tokens of what `tools/list` answers. */
function tokensOf(direct: number, exposed: number | undefined): GatewayPlanStatus['tokens'] {
  if (exposed === undefined) return { direct }
  if (direct === 0) return { direct, exposed }
  const saved = exposed > direct ? 'costs more than direct' : `${(100 * (1 - exposed / direct)).toFixed(2)}%`
  return { direct, exposed, saved }
}

/** Why some routers are not ready, not of the newest revision or not up to date. */
function troubleOfPods(
  { gateway, deployment, pods, reports, denied }: GatewayWorld,
  { revision }: GatewayPlan,
): Verdict | undefined {
  if (denied !== undefined) return deniedVerdict(denied)
  const { replicas, min } = routerScale(gateway)
  if (replicas === 0) {
    return { reason: REASON.noReplicas, message: 'No router runs: set spec.router.replicas to 1 or more' }
  }
  const trouble = rolloutTrouble({ deployment, pods, revision, wanted: replicas ?? min })
  const stale = staleTrouble(reports)
  return trouble && stale ? { ...stale, message: `${stale.message}. ${trouble.message}` } : (trouble ?? stale)
}

/** Why agents get no tool, resource or prompt from the gateway; undefined if they do. */
function outageOf(world: GatewayWorld, plan: GatewayPlan): Verdict | undefined {
  const { deployment, handshake } = world
  const noOffer = nothingOffered(world, plan)
  if (noOffer && NO_SERVERS.includes(noOffer.reason)) return noOffer
  if ((deployment?.status?.readyReplicas ?? 0) === 0) return troubleOfPods(world, plan)
  if (!handshake) return { reason: REASON.starting, message: 'It has not answered at its URL yet' }
  if (handshake.ok) return noOffer
  return { reason: REASON.unreachable, message: `It does not answer at its URL: ${handshake.message}` }
}

/** Why the servers of the gateway offer nothing; undefined if they offer something. */
function nothingOffered(world: GatewayWorld, { config, warnings }: GatewayPlan): Verdict | undefined {
  if (config.servers.length === 0) {
    const tooLarge = warnings.find(({ reason }) => reason === REASON.tooLarge)
    if (tooLarge) return { reason: REASON.tooLarge, message: tooLarge.message }
    const message =
      'No McpServer of this namespace matches spec.servers.selector: label one, or change the selector'
    return { reason: REASON.noServersSelected, message }
  }
  const ready = config.servers.filter(({ status }) => SERVING_STATES.includes(status.state))
  if (ready.length === 0) {
    return {
      reason: REASON.noServersReady,
      message: 'None of its servers is ready: kubectl get mcpservers shows why',
    }
  }
  const names = new Set(ready.map(({ name }) => name))
  const offers = selectedServers(world, config).some(
    ({ metadata, status }) =>
      names.has(metadata.name) && (status?.tools?.count || status?.resources || status?.prompts),
  )
  if (offers) return undefined
  return { reason: REASON.noTools, message: 'Its servers offer no tool, resource or prompt' }
}

/** The first router that has been out of date for a while, and how many others are. */
function staleTrouble(reports: readonly RouterReport[]): Verdict | undefined {
  const [first, ...more] = reports.filter(({ stale }) => stale)
  if (!first) return undefined
  const others = more.length > 0 ? ` (and ${more.length} more)` : ''
  const message = `Router ${first.pod}${others} gets no new configuration: ${first.stale}`
  return { reason: REASON.routerStale, message }
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

function generationOf({ metadata }: McpGateway): number {
  return metadata.generation ?? 0
}
