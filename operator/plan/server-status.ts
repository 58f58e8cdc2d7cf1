/** The server controller's part of a server's status: Accepted and Ready, endpoint, replicas. Pure. */
import { endpointOf } from '../../core/catalog/endpoint.ts'
import type { Problem } from '../../core/errors.ts'
import { CONDITION, REASON } from '../../crds/conditions.ts'
import type { McpServer } from '../../crds/server.ts'
import { accepted, deniedVerdict, notAccepted, notReady, ready, type Verdict } from './conditions.ts'
import type { ServerPlanStatus, ServerWorld } from './plan.ts'
import { startTimeoutSeconds } from './probes.ts'
import { rolloutTrouble } from './rollout.ts'

/** The status of an accepted server; `revision` is that of its pods, undefined for a remote server. */
export function serverStatus(
  world: ServerWorld,
  revision: string | undefined,
  warnings: readonly Problem[],
): ServerPlanStatus {
  const generation = generationOf(world.server)
  const trouble = troubleOf(world, revision)
  const condition = trouble ? notReady(trouble, generation) : ready('It answers at its endpoint.', generation)
  return { ...standing(world), conditions: [accepted(warnings, generation), condition] }
}

/** The status of a server that is not accepted; endpoint and replicas are those that still exist. */
export function refusedServerStatus(world: ServerWorld, refusals: readonly Problem[]): ServerPlanStatus {
  return { ...standing(world), conditions: notAccepted(refusals, generationOf(world.server)) }
}

/** The status of a manifest that could not be parsed. */
export function invalidServerStatus(problems: readonly Problem[], generation: number): ServerPlanStatus {
  return { observedGeneration: generation, conditions: notAccepted(problems, generation, REASON.invalid) }
}

function standing({ server, deployment }: ServerWorld): Omit<ServerPlanStatus, 'conditions'> {
  const endpoint = endpointOf(server, 'cluster')
  const { min = 1 } = server.spec.scaling
  const wanted = server.spec.suspend ? 0 : (deployment?.spec?.replicas ?? min)
  const replicas = { wanted, ready: deployment?.status?.readyReplicas ?? 0 }
  return {
    observedGeneration: generationOf(server),
    ...(endpoint.kind === 'http' && { endpoint: endpoint.url }),
    ...(!server.spec.remote && !server.spec.command && { replicas }),
  }
}

function troubleOf(world: ServerWorld, revision: string | undefined): Verdict | undefined {
  const { server, deployment, pods, denied } = world
  const { suspend, image, scaling } = server.spec
  if (suspend) {
    return {
      reason: REASON.suspended,
      message: 'It is suspended: set spec.suspend to false to resume it',
    }
  }
  if (denied !== undefined) return deniedVerdict(denied)
  const startSeconds = image?.transport === 'http' ? startTimeoutSeconds(server) : undefined
  const rollout = { deployment, pods, revision, wanted: scaling.min ?? 1, startSeconds }
  return (revision && rolloutTrouble(rollout)) || discoveryTrouble(server)
}

/** Ready includes discovery, which connects the same way as routers do. */
function discoveryTrouble(server: McpServer): Verdict | undefined {
  const found = server.status?.conditions?.find(({ type }) => type === CONDITION.toolsDiscovered)
  const current = (found?.observedGeneration ?? 0) >= generationOf(server)
  if (!found || !current || found.status === 'Unknown') {
    return { reason: REASON.starting, message: 'It has not been asked for its tools yet' }
  }
  return found.status === 'True' ? undefined : { reason: found.reason, message: found.message }
}

function generationOf({ metadata }: McpServer): number {
  return metadata.generation ?? 0
}
