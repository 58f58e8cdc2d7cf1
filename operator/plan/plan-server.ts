/** Plans a server: the objects that run it, and its status. Pure. */
import { acceptServer } from '../../core/catalog/accept.ts'
import { isBridged } from '../../core/catalog/endpoint.ts'
import { BEARER_KEY, serverObjectName } from '../../core/catalog/object-names.ts'
import type { Problem } from '../../core/errors.ts'
import type { KubeObject } from '../../core/kube/object.ts'
import { REASON } from '../../crds/conditions.ts'
import type { McpServer } from '../../crds/server.ts'
import { autoscaler, disruptionBudget, standingReplicas } from './availability.ts'
import { refusedProblem, takenProblem } from './conditions.ts'
import { deployment } from './deployment.ts'
import { labelsOf } from './names.ts'
import { serverPolicy } from './network-policy.ts'
import type { EnsuredSecret, ServerPlan, ServerWorld } from './plan.ts'
import { startTimeoutSeconds } from './probes.ts'
import { indexReferences, missingReferences, podInputs } from './references.ts'
import { serverTemplate } from './server-pods.ts'
import { refusedServerStatus, serverStatus } from './server-status.ts'
import { serverService } from './service.ts'
import { revisionOf } from './template.ts'

/** Fields whose content the schema does not validate, by the kind made from them. */
const FREE_FORM = { Deployment: 'spec.pod', NetworkPolicy: 'spec.egress' }

const EGRESS_UNENFORCED: Problem = {
  reason: REASON.notEnforced,
  path: 'spec.egress',
  message:
    'the operator is configured to make no NetworkPolicies, so nothing would enforce it: remove it, or set networkPolicies to true',
}

/** A server that is not accepted keeps its objects, so that a mistake in a manifest stops nothing. */
export function planServer(world: ServerWorld): ServerPlan {
  const { server } = world
  const references = indexReferences(world.references)
  const objections = acceptServer(server, 'cluster')
  const warnings = objections.filter(({ refuses }) => !refuses).map(plain)
  const refusals = [
    ...objections.filter(({ refuses }) => refuses).map(plain),
    ...(server.spec.egress.length > 0 && !world.settings.networkPolicies ? [EGRESS_UNENFORCED] : []),
    ...missingReferences(server, references),
    ...world.taken.map(takenProblem),
    ...(world.refused ? [refusedProblem(world.refused, FREE_FORM)] : []),
  ]
  if (refusals.length > 0) {
    const status = refusedServerStatus(world, refusals)
    return { objects: [], secrets: [], keep: true, status, problems: [...refusals, ...warnings] }
  }
  const workload = server.spec.remote ? undefined : workloadOf(world, podInputs(server, references))
  return {
    objects: workload?.objects ?? [],
    secrets: isBridged(server) ? [bearer(server)] : [],
    status: serverStatus(world, workload?.revision, warnings),
    problems: warnings,
  }
}

/** The policy comes first, so that no pod runs without it. */
function workloadOf({ server, settings, deployment: standing }: ServerWorld, inputs: string) {
  const { name: instance, namespace } = server.metadata
  const { min = 1, max } = server.spec.scaling
  const scaled = { name: serverObjectName(instance), namespace, component: 'server' as const, instance }
  const autoscaled = max > min && !server.spec.suspend
  const replicas = server.spec.suspend ? 0 : autoscaled ? standingReplicas(standing, { min, max }) : min
  const template = serverTemplate(server, settings, inputs)
  const startSeconds = startTimeoutSeconds(server)
  const objects: KubeObject[] = [
    ...(settings.networkPolicies ? [serverPolicy(server, settings)] : []),
    serverService(server),
    ...(max > 1 && !server.spec.suspend ? [disruptionBudget(scaled)] : []),
    deployment({ ...scaled, replicas, startSeconds, template }),
    ...(autoscaled ? [autoscaler(scaled, { min, max })] : []),
  ]
  return { objects, revision: revisionOf(template) }
}

function bearer({ metadata: { name, namespace = 'default' } }: McpServer): EnsuredSecret {
  return { name: serverObjectName(name), namespace, labels: labelsOf('server', name), keys: [BEARER_KEY] }
}

function plain({ reason, message, path }: Problem): Problem {
  return { reason, message, ...(path && { path }) }
}
