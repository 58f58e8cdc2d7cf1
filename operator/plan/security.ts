/** Security contexts and shutdown settings of all our pods: Pod Security "restricted" and stricter. Pure. */
import type { V1PodSecurityContext, V1PodSpec, V1SecurityContext } from '@kubernetes/client-node'
import type { JsonOf } from '../../core/kube/object.ts'
import type { OperatorSettings } from './settings.ts'
import { PRE_STOP_SECONDS, type Shutdown } from './shutdown.ts'

/** A manifest may set another user in its `pod`. */
export function podSecurity({ user }: Pick<OperatorSettings, 'user'>): JsonOf<V1PodSecurityContext> {
  return {
    runAsNonRoot: true,
    ...(user !== undefined && { runAsUser: user, runAsGroup: user, fsGroup: user }),
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
export function podManners({
  graceSeconds,
}: Shutdown): Pick<JsonOf<V1PodSpec>, 'enableServiceLinks' | 'terminationGracePeriodSeconds'> {
  return { enableServiceLinks: false, terminationGracePeriodSeconds: graceSeconds }
}

/** Waits until endpoints are updated and no new requests arrive. The kubelet sleeps, so the image needs no `sleep`. */
export function preStop() {
  return { preStop: { sleep: { seconds: PRE_STOP_SECONDS } } }
}
