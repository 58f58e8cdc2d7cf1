/** The Services of servers and gateways. Pure. */
import type { V1Service } from '@kubernetes/client-node'
import { serverObjectName } from '../../core/catalog/object-names.ts'
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
  SERVICE_PORT,
  selectorOf,
} from './names.ts'

/** A client of a perClient server keeps its pod this long after its last request. */
const AFFINITY_SECONDS = 3 * 60 * 60

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
      ports: [{ name: 'http', port: SERVICE_PORT, targetPort: 'http', protocol: 'TCP' }],
      ...(spec.sessions === 'perClient' && affinity),
    },
  }
}

/** `spec.router.service` holds a Service's spec, plus labels and annotations for its metadata. */
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
        ports: [{ name: 'http', port: SERVICE_PORT, targetPort: 'http', protocol: 'TCP' }],
      },
      service,
    ),
  }
}

/** Of the admin port, within the cluster only: `spec.router.service` is about the other one. */
export function adminService({ metadata: { name, namespace } }: McpGateway): Kube<V1Service> {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: adminServiceName(name), namespace, labels: labelsOf('router', name) },
    spec: {
      type: 'ClusterIP',
      selector: selectorOf('router', name),
      ports: [{ name: 'admin', port: ADMIN_PORT, targetPort: 'admin', protocol: 'TCP' }],
    },
  }
}
