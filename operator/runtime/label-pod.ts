/** Labels pods by server-side apply of only these labels, since the pods themselves belong to their ReplicaSet. */
import type { KubeClient } from '../../core/kube/client.ts'
import type { KubeObject } from '../../core/kube/object.ts'
import type { OperatorMetrics } from './operator-metrics.ts'

export const LABEL_MANAGER = 'portolan-labels'

export type PodLabeller = (
  pod: KubeObject,
  labels: Record<string, string>,
  signal: AbortSignal,
) => Promise<void>

/** Replaces all labels that an earlier call set. Throws ApiError, a conflict if the pod is gone. */
export function createPodLabeller(client: Pick<KubeClient, 'apply'>, metrics: OperatorMetrics): PodLabeller {
  return async ({ metadata: { name, namespace, uid } }, labels, signal) => {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, uid, labels } }
    await client.apply(pod, { fieldManager: LABEL_MANAGER, force: true }, signal)
    metrics.wrote('Pod', 'apply')
  }
}
