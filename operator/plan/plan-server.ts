/** Plans a server: the objects that run it, and its status. Pure. */
import { acceptServer } from '../../core/catalog/accept.ts'
import { isBridged } from '../../core/catalog/endpoint.ts'
import {
  AUTHORITY_KEY,
  BEARER_KEY,
  certificateName,
  serverObjectName,
} from '../../core/catalog/object-names.ts'
import type { Problem } from '../../core/errors.ts'
import { type KubeObject, type ObjectRef, refOf } from '../../core/kube/object.ts'
import { CONDITION, REASON } from '../../crds/conditions.ts'
import type { McpServer } from '../../crds/server.ts'
import { disruptionBudget } from './availability.ts'
import { refusedProblem, takenProblem } from './conditions.ts'
import { type DeploymentParts, deployment } from './deployment.ts'
import { unsendableHeaders } from './header-values.ts'
import { packageOf } from './install-packages.ts'
import { planInstances } from './instance-objects.ts'
import { ANNOTATION, labelsOf } from './names.ts'
import { installPolicy, serverPolicy } from './network-policy.ts'
import { openImage } from './open-image.ts'
import { claimsInUse, packageClaim } from './package-claim.ts'
import { otherContentProblem, recordsDeniedProblem, unrecordedProblem } from './package-records.ts'
import { serverPermission } from './permitted.ts'
import type { EnsuredSecret, ServerPlan, ServerWorld } from './plan.ts'
import { startTimeoutSeconds } from './probes.ts'
import { indexReferences, missingReferences, podInputs, type ReferenceIndex } from './references.ts'
import { serverScale } from './scaling.ts'
import { serverTemplate } from './server-pods.ts'
import { refusedServerStatus, serverStatus } from './server-status.ts'
import { serverService } from './service.ts'
import { revisionOf } from './template.ts'
import { causeOf, isUpgrade } from './upgrade.ts'
import { userClaims } from './user-claims.ts'

/** Fields whose content the schema does not validate, by the kind made from them. */
const FREE_FORM = { Deployment: 'spec.pod', NetworkPolicy: 'spec.egress' }

const EGRESS_UNENFORCED: Problem = {
  reason: REASON.notEnforced,
  path: 'spec.egress',
  message:
    'the operator is configured to create no NetworkPolicies, so it would not be enforced: remove it, or set networkPolicies to true',
}

/** A server that is not accepted keeps its objects, so that a mistake in a manifest does not stop what runs. */
export function planServer(world: ServerWorld): ServerPlan {
  const { server } = world
  const references = indexReferences(world.references)
  const objections = acceptServer(server, 'cluster')
  const missing = missingReferences(server, references)
  const isAccepted = wasAccepted(server)
  const warnings = [
    ...(isAccepted ? missing : []),
    ...objections.filter(({ refuses }) => !refuses).map(plain),
    ...openImage(server, world.settings),
    ...world.otherContent.map(otherContentProblem),
    ...(world.unrecorded ?? []).slice(0, 1).map(report => unrecordedProblem(server, report)),
    ...(world.recordsDenied === undefined ? [] : [recordsDeniedProblem(server, world.recordsDenied)]),
    ...(world.certificate?.problem ? [world.certificate.problem] : []),
  ]
  const refusals = [
    ...objections.filter(({ refuses }) => refuses).map(plain),
    ...(server.spec.egress.length > 0 && !world.settings.networkPolicies ? [EGRESS_UNENFORCED] : []),
    ...serverPermission(server, world.settings),
    ...(isAccepted ? [] : missing),
    ...unsendableHeaders(server, references),
    ...world.taken.map(takenProblem),
    ...(world.refused ? [refusedProblem(world.refused, FREE_FORM)] : []),
  ]
  if (refusals.length > 0) {
    const status = refusedServerStatus(world, refusals)
    const problems = [...refusals, ...warnings]
    return { objects: [], secrets: [], keep: true, status, problems, isUpgrade: false }
  }
  const workload = server.spec.remote ? undefined : workloadOf(world, references)
  const claims = userClaims(world, workload?.instances?.wanted ?? [])
  const afterMs = soonest(workload?.scale.afterMs, workload?.instances?.afterMs, claims.afterMs)
  return {
    objects: [...(workload?.objects ?? []), ...claims.objects, ...(workload?.instances?.objects ?? [])],
    ...untouchedBy(world, workload?.untouched),
    revision: workload?.revision,
    ...(workload?.instances && { usedAtMs: workload.instances.usedAtMs }),
    ...(workload && { scale: workload.scale }),
    ...((workload || afterMs !== undefined) && { afterMs }),
    isUpgrade: workload?.isUpgrade ?? false,
    secrets: isBridged(server) ? [bearer(world), ...(workload?.instances?.secrets ?? [])] : [],
    status: serverStatus(world, workload, warnings),
    problems: warnings,
  }
}

/**
 * Whether this generation of the manifest was accepted before. If so, every Secret that it names has existed: one that is missing now is
 * only a warning, and what runs keeps running.
 */
function wasAccepted({ metadata, status }: McpServer): boolean {
  const found = status?.conditions?.find(({ type }) => type === CONDITION.accepted)
  return found?.status === 'True' && found.observedGeneration === metadata.generation
}

/** The objects of a server with pods, without those of users. The NetworkPolicy comes first, so that no pod runs without it. */
function workloadOf(world: ServerWorld, references: ReferenceIndex) {
  const { server, settings, deployment: current, queued } = world
  const { name: instance, namespace } = server.metadata
  const { max } = server.spec.scaling
  const scale = serverScale(world)
  const scaled = { name: serverObjectName(instance), namespace, component: 'server' as const, instance }
  const replicas = scale.wanted
  const repeats = server.spec.scaling.external ? current : undefined
  const inputs = podInputs(
    server,
    references,
    current?.spec?.template?.metadata?.annotations?.[ANNOTATION.inputs],
  )
  const template = serverTemplate(server, settings, inputs)
  const startSeconds = startTimeoutSeconds(server)
  const annotations = {
    [ANNOTATION.madeFor]: String(server.metadata.generation),
    [ANNOTATION.cause]: causeOf(current, server, template),
  }
  const isWaiting = queued !== undefined && current !== undefined
  const kept = isWaiting ? withReplicas(current, { ...scaled, replicas, startSeconds }) : undefined
  const instances = planInstances(world, references, isWaiting)
  const wanted = isWaiting ? undefined : packageOf(server, settings)
  const claim = wanted && packageClaim(server, wanted)
  const isClaimed = world.claims.some(({ name }) => name === claim?.metadata.name)
  const objects: KubeObject[] = [
    ...(settings.networkPolicies ? [serverPolicy(server, settings), ...installPolicy(server, settings)] : []),
    serverService(server),
    ...(claim && !isClaimed ? [claim] : []),
    ...(max > 1 && !server.spec.suspend ? [disruptionBudget(scaled)] : []),
    ...(isWaiting
      ? (kept ?? [])
      : [deployment({ ...scaled, replicas, repeats, startSeconds, annotations, template })]),
  ]
  return {
    objects,
    scale,
    instances,
    untouched: [
      ...(instances?.untouched ?? []),
      ...(isWaiting && !kept ? [refOf(current)] : []),
      ...(server.spec.tls ? [certificateRef(server)] : []),
      ...(claim && isClaimed ? [refOf(claim)] : []),
      ...claimsInUse(world, isWaiting),
    ],
    revision: revisionOf((isWaiting ? current.spec?.template : undefined) ?? template),
    isUpgrade: isUpgrade(current, server, template),
  }
}

/**
 * The Deployment of a server that waits for its turn in an upgrade: only its pod template waits. It contains the whole present template, since
 * server-side apply removes fields that are no longer applied. Undefined if it has the number of replicas already.
 */
function withReplicas(
  { metadata, spec }: NonNullable<ServerWorld['deployment']>,
  parts: Omit<DeploymentParts, 'annotations' | 'template'>,
): KubeObject[] | undefined {
  if (!spec?.template || spec.replicas === parts.replicas) return undefined
  const own: string[] = [ANNOTATION.madeFor, ANNOTATION.cause]
  const present = Object.entries(metadata.annotations ?? {}).filter(([name]) => own.includes(name))
  return [deployment({ ...parts, annotations: Object.fromEntries(present), template: spec.template })]
}

function soonest(...times: (number | undefined)[]): number | undefined {
  const given = times.filter(time => time !== undefined)
  return given.length > 0 ? Math.min(...given) : undefined
}

/** The Secret with the token that the bridge requires and, with `tls`, the certificates that its callers trust. */
function bearer({ server, certificate }: ServerWorld): EnsuredSecret {
  const { name, namespace = 'default' } = server.metadata
  const values = certificate && { [AUTHORITY_KEY]: certificate.authority }
  const secret = {
    name: serverObjectName(name),
    namespace,
    labels: labelsOf('server', name),
    keys: [BEARER_KEY],
  }
  return { ...secret, ...(values && { values }) }
}

/** The objects that stay as they are. Secrets of logins are among them only while users log in to the server. */
function untouchedBy(
  { server, logins = [], strays = [] }: ServerWorld,
  others: readonly ObjectRef[] | undefined,
): Pick<ServerPlan, 'untouched'> {
  const kept = [...(server.spec.auth?.perUser?.oauth ? logins : []), ...strays]
  return others || kept.length > 0 ? { untouched: [...(others ?? []), ...kept] } : {}
}

function certificateRef({ metadata: { name, namespace } }: McpServer): ObjectRef {
  return { apiVersion: 'v1', kind: 'Secret', namespace, name: certificateName(name) }
}

/** Without the properties that only objections have. */
function plain({ reason, message, path }: Problem): Problem {
  return { reason, message, ...(path && { path }) }
}
