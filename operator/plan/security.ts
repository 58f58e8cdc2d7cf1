/** What every pod of ours is and may: the rules of Pod Security "restricted", and more. Pure. */
import type { V1PodSecurityContext, V1PodSpec, V1SecurityContext } from '@kubernetes/client-node'
import type { JsonOf } from '../../core/kube/object.ts'

/** The user and group that pods run as, unless the manifest says otherwise. */
const USER = 65532

/** Above the 25 s that bridges and routers take to drain, and the 5 s before they begin. */
const TERMINATION_SECONDS = 45
const PRE_STOP_SECONDS = 5

export function podSecurity(): JsonOf<V1PodSecurityContext> {
  return {
    runAsNonRoot: true,
    runAsUser: USER,
    runAsGroup: USER,
    fsGroup: USER,
    // a volume whose root has the right owner already is not walked through
    fsGroupChangePolicy: 'OnRootMismatch',
    seccompProfile: { type: 'RuntimeDefault' },
  }
}

export function containerSecurity(): JsonOf<V1SecurityContext> {
  return {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    readOnlyRootFilesystem: true,
  }
}

/** Nothing of the cluster's is told to the processes, and they get time to end. */
export function podManners(): Pick<
  JsonOf<V1PodSpec>,
  'enableServiceLinks' | 'terminationGracePeriodSeconds'
> {
  return { enableServiceLinks: false, terminationGracePeriodSeconds: TERMINATION_SECONDS }
}

/** Waits until nothing new arrives; the kubelet does it, so the image needs no `sleep`. */
export function preStop() {
  return { preStop: { sleep: { seconds: PRE_STOP_SECONDS } } }
}
