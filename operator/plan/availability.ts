/** The HorizontalPodAutoscaler and PodDisruptionBudget of a Deployment. Pure. */
import type { V1Deployment, V1PodDisruptionBudget, V2HorizontalPodAutoscaler } from '@kubernetes/client-node'
import type { Kube } from '../../core/kube/object.ts'
import { merge } from './merge.ts'
import { type Component, labelsOf, selectorOf } from './names.ts'

const CPU_PERCENT = 80

/** The Deployment that is scaled. Its HorizontalPodAutoscaler and PodDisruptionBudget have the same name. */
export type Scaled = { name: string; namespace: string | undefined; component: Component; instance: string }

/** Scales by CPU by default. `given`: fields of a HorizontalPodAutoscaler's spec, which override the default. */
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

/** The current replicas within the autoscaler's bounds. Omitted replicas would default to 1 until the autoscaler's next sync. */
export function replicasWithin(
  deployment: Kube<V1Deployment> | undefined,
  { min, max }: { min: number; max: number },
): number {
  return Math.min(Math.max(deployment?.spec?.replicas ?? min, min), max)
}

/** Allows evictions to remove one pod at a time, and those that are not ready at any time: a pod that keeps failing must not block the drain of its node. */
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
    spec: {
      maxUnavailable: 1,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      selector: { matchLabels: selectorOf(component, instance) },
    },
  }
}
