/** Security contexts and shutdown settings of all our pods: Pod Security "restricted" and stricter. Pure. */
import type { V1PodSecurityContext, V1PodSpec, V1SecurityContext } from '@kubernetes/client-node'
import type { JsonOf } from '../../core/kube/object.ts'
import type { OperatorSettings } from './settings.ts'
import { PRE_STOP_SECONDS, type Shutdown } from './shutdown.ts'

/** Settings for all containers of a pod. `user`: absent if the cluster assigns it; a manifest may override it in `spec.pod`. */
export function podSecurity({ user }: Pick<OperatorSettings, 'user'>): JsonOf<V1PodSecurityContext> {
  return {
    runAsNonRoot: true,
    ...(user !== undefined && { runAsUser: user, runAsGroup: user, fsGroup: user }),
    // Changes ownership recursively only if the volume's root has another owner.
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

/** Gives pods time to drain, and no environment variables about the namespace's Services. */
export function commonPodFields({
  graceSeconds,
}: Shutdown): Pick<JsonOf<V1PodSpec>, 'enableServiceLinks' | 'terminationGracePeriodSeconds'> {
  return { enableServiceLinks: false, terminationGracePeriodSeconds: graceSeconds }
}

/** Waits until endpoints are updated and no new requests arrive. The kubelet does this itself, so images need no `sleep` command. */
export function preStop() {
  return { preStop: { sleep: { seconds: PRE_STOP_SECONDS } } }
}
