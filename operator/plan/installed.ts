/** Which pods have installed their package, and so no longer need their registry. Pure. */
import type { V1Pod } from '@kubernetes/client-node'
import type { Kube } from '../../core/kube/object.ts'
import { INSTALLED_LABEL } from './names.ts'
import { INSTALLER } from './package-records.ts'

export type InstalledPod = { pod: Kube<V1Pod>; installed: boolean }

/** Pods whose label is missing or wrong. After a restart of its node, a pod runs the installer again, and the label has to be removed meanwhile. */
export function mislabelled(pods: readonly Kube<V1Pod>[]): InstalledPod[] {
  return pods
    .filter(({ metadata }) => !metadata.deletionTimestamp)
    .map(pod => ({ pod, installed: hasInstalled(pod) }))
    .filter(({ pod, installed }) => (pod.metadata.labels?.[INSTALLED_LABEL] !== undefined) !== installed)
}

/** Whether the last run of the pod's installer succeeded. */
function hasInstalled({ status }: Kube<V1Pod>): boolean {
  const installer = status?.initContainerStatuses?.find(({ name }) => name === INSTALLER)
  return installer?.state?.terminated?.exitCode === 0
}
