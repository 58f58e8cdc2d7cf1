/** The Deployment of a server or of a gateway's routers. Pure. */
import type { V1Deployment, V1PodTemplateSpec } from '@kubernetes/client-node'
import type { JsonOf, Kube } from '../../core/kube/object.ts'
import { type Component, labelsOf, selectorOf } from './names.ts'

/** Time for pulling images and installing packages, added to the time for the start itself. */
const PULL_SECONDS = 300
const OLD_REVISIONS = 2

export type DeploymentParts = {
  name: string
  namespace: string | undefined
  component: Component
  instance: string
  replicas: number
  startSeconds: number
  template: JsonOf<V1PodTemplateSpec>
}

/** maxUnavailable 0: if an update fails to start, the pods of the previous revision keep serving. */
export function deployment(parts: DeploymentParts): Kube<V1Deployment> {
  const { name, namespace, component, instance, replicas, startSeconds, template } = parts
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels: labelsOf(component, instance) },
    spec: {
      replicas,
      revisionHistoryLimit: OLD_REVISIONS,
      progressDeadlineSeconds: startSeconds + PULL_SECONDS,
      selector: { matchLabels: selectorOf(component, instance) },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template,
    },
  }
}
