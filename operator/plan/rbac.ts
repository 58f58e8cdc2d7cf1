/** The ServiceAccount and Role of a gateway's routers, which may read named objects only. Pure. */
import type { V1Role, V1RoleBinding, V1ServiceAccount } from '@kubernetes/client-node'
import { feedName } from '../../core/catalog/object-names.ts'
import type { Kube } from '../../core/kube/object.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import { gatewayObjectName, labelsOf } from './names.ts'

const RBAC = 'rbac.authorization.k8s.io'

export function serviceAccount({ metadata: { name, namespace } }: McpGateway): Kube<V1ServiceAccount> {
  return {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: gatewayObjectName(name), namespace, labels: labelsOf('router', name) },
    automountServiceAccountToken: false,
  }
}

/** `slices` and `secrets`: names of ConfigMaps and Secrets, sorted. A rule without resourceNames would allow all objects, so it is omitted. */
export function role(
  { metadata: { name, namespace } }: McpGateway,
  slices: readonly string[],
  secrets: readonly string[],
): Kube<V1Role> {
  const may = (verbs: string[], resource: string, resourceNames: readonly string[]) =>
    resourceNames.length === 0
      ? []
      : [{ apiGroups: [''], resources: [resource], resourceNames: [...resourceNames], verbs }]
  return {
    apiVersion: `${RBAC}/v1`,
    kind: 'Role',
    metadata: { name: gatewayObjectName(name), namespace, labels: labelsOf('router', name) },
    rules: [
      ...may(['get', 'list', 'watch'], 'configmaps', [feedName(name)]),
      ...may(['get'], 'configmaps', slices),
      ...may(['get'], 'secrets', secrets),
    ],
  }
}

export function roleBinding({ metadata: { name, namespace } }: McpGateway): Kube<V1RoleBinding> {
  const objectName = gatewayObjectName(name)
  return {
    apiVersion: `${RBAC}/v1`,
    kind: 'RoleBinding',
    metadata: { name: objectName, namespace, labels: labelsOf('router', name) },
    roleRef: { apiGroup: RBAC, kind: 'Role', name: objectName },
    subjects: [{ kind: 'ServiceAccount', name: objectName, namespace }],
  }
}
