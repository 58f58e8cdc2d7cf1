/** The server controller's part of a server's status: Accepted, Available, Progressing and Ready, endpoint, replicas. Pure. */
import { endpointOf } from '../../core/catalog/endpoint.ts'
import { serverObjectName } from '../../core/catalog/object-names.ts'
import type { Problem } from '../../core/errors.ts'
import { CONDITION, REASON } from '../../crds/conditions.ts'
import type { McpServer } from '../../crds/server.ts'
import {
  accepted,
  availability,
  deniedVerdict,
  notAccepted,
  notReady,
  progress,
  ready,
  type Verdict,
} from './conditions.ts'
import type { InstancePlan } from './instance-objects.ts'
import { usersStatus } from './instance-status.ts'
import type { ServerPlanStatus, ServerWorld } from './plan.ts'
import { startTimeoutSeconds } from './probes.ts'
import { holdsSecret } from './references.ts'
import { rolloutTrouble } from './rollout.ts'
import type { Scale } from './scale.ts'
import { maySleep } from './scaling.ts'

/** The status of an accepted server. `workload`: what was planned for its pods; undefined for a remote server. */
export function serverStatus(
  world: ServerWorld,
  workload: { revision?: string; scale: Scale; instances?: InstancePlan } | undefined,
  warnings: readonly Problem[],
): ServerPlanStatus {
  const generation = generationOf(world.server)
  const ofPods = workload && troubleOfPods(world, workload)
  const found = suspension(world) ?? ofPods ?? discoveryTrouble(world.server)
  const resting = workload && atRest(world, workload.scale, found)
  const trouble = resting ? undefined : found
  const users = usersStatus(world, workload?.instances)
  return {
    ...fieldsOf(world, workload?.scale),
    ...(users && { users }),
    conditions: [
      accepted(warnings, generation),
      availability(trouble && !stillServes(world) ? trouble : undefined, generation),
      ...(workload ? [progress(suspension(world) ?? ofPods ?? queueing(world), generation)] : []),
      trouble ? notReady(trouble, generation) : ready(resting ?? READY, generation),
    ],
  }
}

const READY: Verdict = { reason: REASON.ready, message: 'It answers at its endpoint.' }

/** The verdict on a server that sleeps or is being woken, else undefined. It is ready: its tools are known, and calls wait until it answers. */
function atRest(
  { server, deployment }: ServerWorld,
  { wanted }: Scale,
  trouble: Verdict | undefined,
): Verdict | undefined {
  if (!maySleep(server) || server.spec.suspend || discoveryTrouble(server)) return undefined
  if (wanted === 0 && deployment)
    return { reason: REASON.asleep, message: 'Nothing runs; the next call wakes it.' }
  const isWaking = trouble?.reason === REASON.starting && !deployment?.status?.readyReplicas
  return isWaking ? { reason: REASON.waking, message: 'It is being started; calls wait for it.' } : undefined
}

/** The status of a server that is not accepted; endpoint and replicas are those of its existing objects. */
export function refusedServerStatus(world: ServerWorld, refusals: readonly Problem[]): ServerPlanStatus {
  return { ...fieldsOf(world), conditions: notAccepted(refusals, generationOf(world.server)) }
}

/** The status of a manifest that could not be parsed. */
export function invalidServerStatus(problems: readonly Problem[], generation: number): ServerPlanStatus {
  return {
    observedGeneration: generation,
    conditions: notAccepted(problems, generation, { reason: REASON.invalid }),
  }
}

/** Everything but the conditions and `users`. */
function fieldsOf({ server, deployment }: ServerWorld, scale?: Scale): Omit<ServerPlanStatus, 'conditions'> {
  const endpoint = endpointOf(server, 'cluster')
  const { min = 1 } = server.spec.scaling
  const wanted = scale?.wanted ?? (server.spec.suspend ? 0 : (deployment?.spec?.replicas ?? min))
  const ready = deployment?.status?.readyReplicas ?? 0
  const replicas = { wanted, ready, ...(scale && { why: scale.why }) }
  return {
    observedGeneration: generationOf(server),
    ...(endpoint.kind === 'http' && { endpoint: endpoint.url }),
    ...(!server.spec.remote && !server.spec.command && { replicas }),
  }
}

function suspension({ server }: ServerWorld): Verdict | undefined {
  const message = 'It is suspended: set spec.suspend to false to resume it'
  return server.spec.suspend ? { reason: REASON.suspended, message } : undefined
}

/** Why its pods are not replaced yet in an upgrade of the operator. */
function queueing({ queued }: ServerWorld): Verdict | undefined {
  const message = `Its pods will be replaced after those of ${queued?.rolling.join(', ')}`
  return queued && { reason: REASON.updateQueued, message }
}

/** Why instances are missing. Additional instances that are still starting only affect speed, so they are not reported. */
function troubleOfPods(
  { server, deployment, pods, denied }: ServerWorld,
  { revision, scale }: { revision?: string; scale: Scale },
): Verdict | undefined {
  if (denied !== undefined) return deniedVerdict(denied)
  if (scale.wanted === 0 && deployment && maySleep(server)) return undefined
  const { image, scaling } = server.spec
  const startSeconds = image?.transport === 'http' ? startTimeoutSeconds(server) : undefined
  const wanted = Math.min(Math.max(1, scale.wanted), Math.max(1, scaling.min ?? 1))
  const trouble = rolloutTrouble({ deployment, pods, revision, wanted, startSeconds })
  return trouble && holdsSecret(server) ? withoutOutput(trouble, server) : trouble
}

/** The lines after the first are output of the server, which may disclose a Secret to everybody who may read the status. */
function withoutOutput({ reason, message }: Verdict, { metadata }: McpServer): Verdict {
  const [first = '', ...lines] = message.split('\n')
  if (lines.length === 0) return { reason, message }
  const command = `kubectl -n ${metadata.namespace} logs deployment/${serverObjectName(metadata.name)} --all-containers --previous`
  return {
    reason,
    message: `${first}; its output is not shown here, because it may hold a Secret: ${command}`,
  }
}

/** Whether an instance of any revision is ready and the last discovery read its tools: a change that cannot be rolled out is not an outage. */
function stillServes({ server, deployment }: ServerWorld): boolean {
  const found = server.status?.conditions?.find(({ type }) => type === CONDITION.toolsDiscovered)
  return !server.spec.suspend && (deployment?.status?.readyReplicas ?? 0) > 0 && found?.status === 'True'
}

/** Why the last discovery did not read its tools. Ready includes discovery, which connects the same way as routers do. */
function discoveryTrouble(server: McpServer): Verdict | undefined {
  const found = server.status?.conditions?.find(({ type }) => type === CONDITION.toolsDiscovered)
  const current = (found?.observedGeneration ?? 0) >= generationOf(server)
  if (!found || !current || found.status === 'Unknown') {
    return { reason: REASON.starting, message: 'It has not been asked for its tools yet' }
  }
  if (found.status === 'True') return undefined
  return { reason: found.reason, message: 'Its tools cannot be read: see the condition ToolsDiscovered' }
}

function generationOf({ metadata }: McpServer): number {
  return metadata.generation ?? 0
}
