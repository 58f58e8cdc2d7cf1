/** The kinds that the product reads or writes, and where the API server keeps them. Pure. */
import type { Kind, ObjectRef } from './object.ts'

type Place = { plural: string; namespaced: boolean }

const inNamespace = (plural: string): Place => ({ plural, namespaced: true })
const inCluster = (plural: string): Place => ({ plural, namespaced: false })

const PLACES: Readonly<Record<string, Place>> = {
  'v1/ConfigMap': inNamespace('configmaps'),
  'v1/Event': inNamespace('events'),
  'v1/Namespace': inCluster('namespaces'),
  'v1/Pod': inNamespace('pods'),
  'v1/Secret': inNamespace('secrets'),
  'v1/Service': inNamespace('services'),
  'v1/ServiceAccount': inNamespace('serviceaccounts'),
  'apiextensions.k8s.io/v1/CustomResourceDefinition': inCluster('customresourcedefinitions'),
  'apps/v1/Deployment': inNamespace('deployments'),
  'apps/v1/ReplicaSet': inNamespace('replicasets'),
  'authentication.k8s.io/v1/TokenReview': inCluster('tokenreviews'),
  'autoscaling/v2/HorizontalPodAutoscaler': inNamespace('horizontalpodautoscalers'),
  'coordination.k8s.io/v1/Lease': inNamespace('leases'),
  'events.k8s.io/v1/Event': inNamespace('events'),
  'networking.k8s.io/v1/NetworkPolicy': inNamespace('networkpolicies'),
  'policy/v1/PodDisruptionBudget': inNamespace('poddisruptionbudgets'),
  'portolan.dev/v1alpha1/McpGateway': inNamespace('mcpgateways'),
  'portolan.dev/v1alpha1/McpServer': inNamespace('mcpservers'),
  'rbac.authorization.k8s.io/v1/Role': inNamespace('roles'),
  'rbac.authorization.k8s.io/v1/RoleBinding': inNamespace('rolebindings'),
}

/** The path of a kind's list, in one namespace or (without it) in all. Throws on a kind that is not in the table. */
export function listPath({ apiVersion, kind }: Kind, namespace?: string): string {
  const { plural, namespaced } = placeOf({ apiVersion, kind })
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  if (namespace && !namespaced) throw new Error(`${kind} has no namespace`)
  return namespace ? `${root}/namespaces/${segment(namespace)}/${plural}` : `${root}/${plural}`
}

/** The path of the list that one object of the kind is created in. Throws where the kind needs a namespace and none is given. */
export function homePath(kind: Kind, namespace?: string): string {
  if (!namespace && placeOf(kind).namespaced) throw new Error(`${kind.kind} needs a namespace`)
  return listPath(kind, namespace)
}

/** The path of one object. */
export function objectPath(ref: ObjectRef): string {
  return `${homePath(ref, ref.namespace)}/${segment(ref.name)}`
}

/** A name as a part of a path, of which it cannot leave its place. */
function segment(name: string): string {
  if (name === '' || name === '.' || name === '..') throw new Error(`no name of an object: '${name}'`)
  return encodeURIComponent(name)
}

function placeOf({ apiVersion, kind }: Kind): Place {
  const place = PLACES[`${apiVersion}/${kind}`]
  if (!place) throw new Error(`${apiVersion} ${kind} is not in the table of kinds`)
  return place
}
