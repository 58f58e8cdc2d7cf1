/** Which pods are routers of a gateway, and whether it has any. */
import type { V1Deployment, V1Pod } from '@kubernetes/client-node'
import type { Kube } from '../../core/kube/object.ts'
import { CONDITION, type Condition } from '../../crds/conditions.ts'
import { gatewayObjectName } from '../plan/names.ts'
import type { Caches, Manifest } from './caches.ts'
import { controllerOf } from './owner-reference.ts'

/** The label with which the Deployment controller tells the pods of its ReplicaSets apart. It also ends the names of these. */
const TEMPLATE_HASH = 'pod-template-hash'

export type RouterPodCaches = Pick<Caches, 'gateways' | 'deployments' | 'podsOf'>

/**
 * The pods of the Deployment of a gateway. Labels are not trusted, since anybody who creates pods may write them: the operator believes what
 * routers report, and they receive its token and people's credentials.
 */
export function routerPods(
  caches: RouterPodCaches,
  { namespace, name }: { namespace: string; name: string },
): Kube<V1Pod>[] {
  const gateway = caches.gateways.get(`${namespace}/${name}`)
  const deployment = gateway && deploymentOf(caches, gateway)
  if (!deployment) return []
  return caches.podsOf(namespace, 'router', name).filter(pod => isPodOf(deployment, pod))
}

/** Whether the gateway wants no router and has none: with no replicas, or refused before it had a Deployment. */
export function isWithoutRouters(caches: RouterPodCaches, gateway: Manifest): boolean {
  const deployment = deploymentOf(caches, gateway)
  const isRefused = ({ type, status }: Condition) => type === CONDITION.accepted && status === 'False'
  if (!deployment) return gateway.status?.conditions?.some(isRefused) ?? false
  const { metadata, spec, status = {} } = deployment
  const isObserved = (status.observedGeneration ?? 0) >= (metadata.generation ?? 0)
  return spec?.replicas === 0 && isObserved && (status.replicas ?? 0) === 0
}

function deploymentOf(
  { deployments }: RouterPodCaches,
  { metadata: { namespace, name, uid } }: Manifest,
): Kube<V1Deployment> | undefined {
  const deployment = deployments.get(`${namespace}/${gatewayObjectName(name)}`)
  return deployment && controllerOf(deployment)?.uid === uid ? deployment : undefined
}

/**
 * Whether a ReplicaSet of the Deployment controls the pod. ReplicaSets are not cached, so theirs is known by its name, and its uid is not
 * compared: garbage collection deletes a pod whose reference has another uid than the object of that name.
 */
function isPodOf({ metadata }: Kube<V1Deployment>, pod: Kube<V1Pod>): boolean {
  const { kind, name } = controllerOf(pod) ?? {}
  const hash = pod.metadata.labels?.[TEMPLATE_HASH]
  return kind === 'ReplicaSet' && Boolean(hash) && name === `${metadata.name}-${hash}`
}
