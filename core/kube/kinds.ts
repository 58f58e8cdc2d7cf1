/** The kinds that Portolan reads or writes, and their paths on the API server. Pure. */
import type { Kind, ObjectRef } from './object.ts'

type Place = { plural: string; namespaced: boolean }

const inNamespace = (plural: string): Place => ({ plural, namespaced: true })
const inCluster = (plural: string): Place => ({ plural, namespaced: false })

const PLACES: Readonly<Record<string, Place>> = {
  'v1/ConfigMap': inNamespace('configmaps'),
  'v1/Event': inNamespace('events'),
  'v1/Namespace': inCluster('namespaces'),
  'v1/PersistentVolumeClaim': inNamespace('persistentvolumeclaims'),
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
  'gateway.networking.k8s.io/v1/HTTPRoute': inNamespace('httproutes'),
  'networking.k8s.io/v1/Ingress': inNamespace('ingresses'),
  'networking.k8s.io/v1/NetworkPolicy': inNamespace('networkpolicies'),
  'policy/v1/PodDisruptionBudget': inNamespace('poddisruptionbudgets'),
  'portolan.dev/v1alpha1/McpGateway': inNamespace('mcpgateways'),
  'portolan.dev/v1alpha1/McpScript': inNamespace('mcpscripts'),
  'portolan.dev/v1alpha1/McpServer': inNamespace('mcpservers'),
  'rbac.authorization.k8s.io/v1/ClusterRoleBinding': inCluster('clusterrolebindings'),
  'rbac.authorization.k8s.io/v1/Role': inNamespace('roles'),
  'rbac.authorization.k8s.io/v1/RoleBinding': inNamespace('rolebindings'),
}

/** The path of the list of a kind, in one namespace or, without `namespace`, in all. Throws if the kind is not in the table. */
export function listPath({ apiVersion, kind }: Kind, namespace?: string): string {
  const { plural, namespaced } = placeOf({ apiVersion, kind })
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  if (namespace && !namespaced) throw new Error(`${kind} has no namespace`)
  return namespace ? `${root}/namespaces/${segment(namespace)}/${plural}` : `${root}/${plural}`
}

/** The path to which an object of the kind is posted. Throws if the kind is namespaced and no namespace is given. */
export function homePath(kind: Kind, namespace?: string): string {
  if (!namespace && placeOf(kind).namespaced) throw new Error(`${kind.kind} needs a namespace`)
  return listPath(kind, namespace)
}

/** The path of one object. */
export function objectPath(ref: ObjectRef): string {
  return `${homePath(ref, ref.namespace)}/${segment(ref.name)}`
}

/** Encodes a name as one path segment, so that it cannot lead to another path. */
function segment(name: string): string {
  if (name === '' || name === '.' || name === '..') throw new Error(`not a valid object name: '${name}'`)
  return encodeURIComponent(name)
}

function placeOf({ apiVersion, kind }: Kind): Place {
  const place = PLACES[`${apiVersion}/${kind}`]
  if (!place) throw new Error(`${apiVersion} ${kind} is not in the table of kinds`)
  return place
}
