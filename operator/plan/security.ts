/** Security contexts and shutdown settings of all our pods: Pod Security "restricted" and stricter. Pure. */
import type { V1PodSecurityContext, V1PodSpec, V1SecurityContext } from '@kubernetes/client-node'
import type { JsonOf } from '../../core/kube/object.ts'

/** User and group of pods, unless the manifest sets others. */
const USER = 65532

/** More than the preStop pause and the 25 s that bridges and routers take to drain. */
const TERMINATION_SECONDS = 45
const PRE_STOP_SECONDS = 5

export function podSecurity(): JsonOf<V1PodSecurityContext> {
  return {
    runAsNonRoot: true,
    runAsUser: USER,
    runAsGroup: USER,
    fsGroup: USER,
    // Do not change ownership recursively if the volume's root already has the right owner.
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

/** No environment variables for the namespace's Services, and time to drain. */
export function podManners(): Pick<
  JsonOf<V1PodSpec>,
  'enableServiceLinks' | 'terminationGracePeriodSeconds'
> {
  return { enableServiceLinks: false, terminationGracePeriodSeconds: TERMINATION_SECONDS }
}

/** Waits until endpoints are updated and no new requests arrive. The kubelet sleeps, so the image needs no `sleep`. */
export function preStop() {
  return { preStop: { sleep: { seconds: PRE_STOP_SECONDS } } }
}
