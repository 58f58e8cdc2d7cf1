/** The Services of servers and gateways. Pure. */
import type { V1Service } from '@kubernetes/client-node'
import { instanceName, serverObjectName } from '../../core/catalog/object-names.ts'
import { isObject } from '../../core/json.ts'
import type { Kube } from '../../core/kube/object.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import type { McpServer } from '../../crds/server.ts'
import { merge } from './merge.ts'
import {
  ADMIN_PORT,
  adminServiceName,
  gatewayObjectName,
  labelsOf,
  peersServiceName,
  SERVICE_PORT,
  selectorOf,
  TLS_SERVICE_PORT,
} from './names.ts'

/** How long after its last request a router still reaches the same pod of a server whose sessions live in the pod. */
const AFFINITY_SECONDS = 3 * 60 * 60

const HTTP = { name: 'http', port: SERVICE_PORT, targetPort: 'http', protocol: 'TCP' }

/** The Service of a server's shared pods. */
export function serverService({ metadata, spec }: McpServer): Kube<V1Service> {
  const { name, namespace } = metadata
  const affinity = {
    sessionAffinity: 'ClientIP',
    sessionAffinityConfig: { clientIP: { timeoutSeconds: AFFINITY_SECONDS } },
  }
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: serverObjectName(name), namespace, labels: labelsOf('server', name) },
    spec: {
      selector: selectorOf('server', name),
      ports: [portOf(spec)],
      ...(spec.sessions !== 'shared' && affinity),
    },
  }
}

/** The Service of one user's pod; `user` is the user's id. */
export function instanceService({ metadata, spec }: McpServer, user: string): Kube<V1Service> {
  const { name, namespace } = metadata
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: instanceName(name, user), namespace, labels: labelsOf('user', name, user) },
    spec: { selector: selectorOf('user', name, user), ports: [portOf(spec)] },
  }
}

function portOf({ tls }: McpServer['spec']) {
  return tls ? { ...HTTP, name: 'https', port: TLS_SERVICE_PORT } : HTTP
}

/** The Service of a gateway's routers. `spec.router.service` holds a Service's spec, plus labels and annotations for its metadata. */
export function gatewayService({ metadata, spec }: McpGateway): Kube<V1Service> {
  const { name, namespace } = metadata
  const { labels, annotations, ...service } = spec.router.service ?? {}
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: gatewayObjectName(name),
      namespace,
      labels: merge(labels ?? {}, labelsOf('router', name)) as Record<string, string>,
      ...(isObject(annotations) && { annotations: annotations as Record<string, string> }),
    },
    spec: merge(
      {
        selector: selectorOf('router', name),
        ports: [HTTP],
      },
      service,
    ),
  }
}

/** The Service of the admin port. It is never exposed outside the cluster: `spec.router.service` applies only to the gateway's Service. */
export function adminService(gateway: McpGateway): Kube<V1Service> {
  return onAdminPort(gateway, adminServiceName(gateway.metadata.name), { type: 'ClusterIP' })
}

/** A headless Service: its name resolves to all ready routers, which exchange the counts of quotas. */
export function peersService(gateway: McpGateway): Kube<V1Service> {
  return onAdminPort(gateway, peersServiceName(gateway.metadata.name), { clusterIP: 'None' })
}

function onAdminPort({ metadata }: McpGateway, name: string, spec: Kube<V1Service>['spec']): Kube<V1Service> {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: metadata.namespace, labels: labelsOf('router', metadata.name) },
    spec: {
      ...spec,
      selector: selectorOf('router', metadata.name),
      ports: [{ name: 'admin', port: ADMIN_PORT, targetPort: 'admin', protocol: 'TCP' }],
    },
  }
}
