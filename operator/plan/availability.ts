/** How many pods there are under load, and how many stay while nodes are emptied. Pure. */
import type { V1Deployment, V1PodDisruptionBudget, V2HorizontalPodAutoscaler } from '@kubernetes/client-node'
import type { Kube } from '../../core/kube/object.ts'
import { merge } from './merge.ts'
import { type Component, labelsOf, selectorOf } from './names.ts'

const CPU_PERCENT = 80

/** Name of the Deployment and of what belongs to it. */
export type Scaled = { name: string; namespace: string | undefined; component: Component; instance: string }

/** By CPU, unless `given`, which is a HorizontalPodAutoscaler's spec, says otherwise. */
export function autoscaler(
  { name, namespace, component, instance }: Scaled,
  replicas: { min: number; max: number },
  given: unknown = {},
): Kube<V2HorizontalPodAutoscaler> {
  const cpu = { name: 'cpu', target: { type: 'Utilization', averageUtilization: CPU_PERCENT } }
  const spec = {
    minReplicas: replicas.min,
    maxReplicas: replicas.max,
    metrics: [{ type: 'Resource', resource: cpu }],
  }
  const { metrics, ...rest } = given as { metrics?: typeof spec.metrics }
  const scaled = { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name } }
  return {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name, namespace, labels: labelsOf(component, instance) },
    spec: { ...merge({ ...spec, ...(metrics && { metrics }) }, rest), ...scaled },
  }
}

/** While an autoscaler decides: as many as there are, in its bounds. To say nothing would mean one, until it looks again. */
export function standingReplicas(
  deployment: Kube<V1Deployment> | undefined,
  { min, max }: { min: number; max: number },
): number {
  return Math.min(Math.max(deployment?.spec?.replicas ?? min, min), max)
}

/** One pod at a time may be taken away. */
export function disruptionBudget({
  name,
  namespace,
  component,
  instance,
}: Scaled): Kube<V1PodDisruptionBudget> {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace, labels: labelsOf(component, instance) },
    spec: { maxUnavailable: 1, selector: { matchLabels: selectorOf(component, instance) } },
  }
}
