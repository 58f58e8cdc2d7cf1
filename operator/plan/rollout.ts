/** Whether a Deployment runs what was planned, and if not, why. Pure. */
import type { V1Deployment, V1Pod } from '@kubernetes/client-node'
import type { Kube } from '../../core/kube/object.ts'
import { REASON } from '../../crds/conditions.ts'
import type { Verdict } from './conditions.ts'
import { podTrouble } from './pod-trouble.ts'
import { revisionOf } from './template.ts'

export type Rollout = {
  deployment: Kube<V1Deployment> | undefined
  pods: readonly Kube<V1Pod>[]
  /** Revision of the planned template. */
  revision: string | undefined
  /** Instances that have to be ready. */
  wanted: number
  /** As in `podTrouble`. */
  startSeconds?: number
}

/** Why instances are missing; undefined if all of them have the planned revision and are ready. */
export function rolloutTrouble(rollout: Rollout): Verdict | undefined {
  const { deployment, wanted } = rollout
  const { replicas = 0, readyReplicas = 0, updatedReplicas = 0 } = deployment?.status ?? {}
  const observed = deployment && isObserved(deployment, rollout.revision) ? deployment : undefined
  const oldReplicas = observed ? replicas - updatedReplicas : replicas
  if (observed && oldReplicas === 0 && updatedReplicas >= wanted && readyReplicas >= wanted) return undefined
  const oldServe = oldReplicas > 0 && readyReplicas > 0
  const trouble =
    (observed && rejection(observed)) ?? troubleOfPods(rollout) ?? (observed && overdue(observed))
  if (trouble) return oldServe ? { ...trouble, message: withOldServing(trouble.message) } : trouble
  if (oldServe) {
    return {
      reason: REASON.updating,
      message: 'The new revision is starting; the previous one serves until it is ready',
    }
  }
  return {
    reason: REASON.starting,
    message: `${Math.min(readyReplicas, wanted)} of ${wanted} instances are ready`,
  }
}

/** Whether the Deployment controller has observed the planned template. */
function isObserved({ metadata, spec, status }: Kube<V1Deployment>, revision: string | undefined): boolean {
  const current = spec !== undefined && revisionOf(spec.template) === revision
  return current && (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0)
}

/** Failed pods count only if there are no others, since the ReplicaSet replaces them. */
function troubleOfPods({ pods, revision, startSeconds }: Rollout): Verdict | undefined {
  const current = pods
    .filter(pod => revisionOf(pod) === revision && !pod.metadata.deletionTimestamp)
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
  const active = current.filter(({ status }) => status?.phase !== 'Failed')
  for (const pod of active.length > 0 ? active : current) {
    const trouble = podTrouble(pod, startSeconds)
    if (trouble) return trouble
  }
  return undefined
}

/** Why the API server refuses to create pods: a quota, Pod Security, or a missing ServiceAccount. */
function rejection({ status }: Kube<V1Deployment>): Verdict | undefined {
  const failure = status?.conditions?.find(
    ({ type, status }) => type === 'ReplicaFailure' && status === 'True',
  )
  return (
    failure && {
      reason: REASON.podRejected,
      message: `The API server refuses the pod: ${failure.message ?? ''}`,
    }
  )
}

/** Whether the Deployment has passed its progress deadline. */
function overdue({ status }: Kube<V1Deployment>): Verdict | undefined {
  const late = status?.conditions?.some(({ reason }) => reason === 'ProgressDeadlineExceeded')
  const message = 'No instance became ready in time: see the events and the log of its pod'
  return late ? { reason: REASON.startTimeout, message } : undefined
}

/** Adds to the first line of a message that pods of the previous revision still serve. */
function withOldServing(message: string): string {
  const [first = '', ...lines] = message.split('\n')
  return [`${first} (the previous revision still serves)`, ...lines].join('\n')
}
