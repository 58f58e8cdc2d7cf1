/** The Deployment of a server or of a gateway's routers. Pure. */
import type { V1Deployment, V1PodTemplateSpec } from '@kubernetes/client-node'
import type { JsonOf, Kube } from '../../core/kube/object.ts'
import { type Component, labelsOf, selectorOf } from './names.ts'

/** Time for pulling images and installing packages, added to the time for the start itself. */
const PULL_SECONDS = 300
/** How many ReplicaSets of earlier revisions are kept. */
const KEPT_REVISIONS = 2

export type DeploymentParts = {
  name: string
  namespace: string | undefined
  component: Component
  /** Name of the server or gateway. */
  instance: string
  /** Id of the user, if the pod is that of one user. */
  user?: string
  /** Whether two pods must never run at once, because they would write to the same volume. */
  isExclusive?: boolean
  replicas: number
  /** How long a pod may take to start once its images are pulled. */
  startSeconds: number
  annotations?: Record<string, string>
  template: JsonOf<V1PodTemplateSpec>
  /** The Deployment whose number of replicas is repeated, since another controller decides it: it is not written over a newer one. */
  repeats?: Kube<V1Deployment>
}

/**
 * With maxUnavailable 0, the pods of the previous revision keep serving if an update fails to start. The pod of a user ends at once instead:
 * its credentials may be outdated, and routers no longer call it.
 */
export function deployment(parts: DeploymentParts): Kube<V1Deployment> {
  const { name, namespace, component, instance, user, replicas, startSeconds, annotations, template } = parts
  const maxUnavailable = user === undefined ? 0 : 1
  const strategy = parts.isExclusive
    ? { type: 'Recreate' }
    : { type: 'RollingUpdate', rollingUpdate: { maxUnavailable, maxSurge: 1 } }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name,
      namespace,
      labels: labelsOf(component, instance, user),
      ...(annotations && { annotations }),
      ...(parts.repeats && { resourceVersion: parts.repeats.metadata.resourceVersion }),
    },
    spec: {
      replicas,
      revisionHistoryLimit: KEPT_REVISIONS,
      progressDeadlineSeconds: startSeconds + PULL_SECONDS,
      selector: { matchLabels: selectorOf(component, instance, user) },
      strategy,
      template,
    },
  }
}
