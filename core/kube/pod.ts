/** What the status of a pod says. Pure. */
import type { V1Pod } from '@kubernetes/client-node'
import type { Kube } from './object.ts'

/** Whether its condition Ready is true; it may also be so while the pod is being deleted. */
export function isPodReady({ status }: Kube<V1Pod>): boolean {
  return status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
}
