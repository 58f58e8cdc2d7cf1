/** What makes a gateway reachable from outside the cluster: an HTTPRoute or an Ingress. Pure. */
import type { V1Ingress } from '@kubernetes/client-node'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import { gatewayObjectName, labelsOf, SERVICE_PORT } from './names.ts'

/** A kind that exists only where the Gateway API is installed. */
export const HTTP_ROUTE = { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute' }

type Exposure = NonNullable<McpGateway['spec']['router']['expose']>

/** The HTTPRoute and the Ingress of a gateway, as far as its manifest asks for them. */
export function exposureObjects(gateway: McpGateway): KubeObject[] {
  const { gatewayAPI, ingress } = gateway.spec.router.expose ?? {}
  return [
    ...(gatewayAPI ? [httpRoute(gateway, gatewayAPI)] : []),
    ...(ingress ? [ingressOf(gateway, ingress)] : []),
  ]
}

/** Request timeouts are disabled: listening streams stay open, and calls have their own limits. */
function httpRoute(
  gateway: McpGateway,
  { parentRefs, hostnames }: NonNullable<Exposure['gatewayAPI']>,
): KubeObject & { spec: unknown } {
  const { name } = gateway.metadata
  const backendRefs = [
    { group: '', kind: 'Service', name: gatewayObjectName(name), port: SERVICE_PORT, weight: 1 },
  ]
  return {
    ...HTTP_ROUTE,
    metadata: metadataOf(gateway),
    spec: {
      parentRefs,
      ...(hostnames.length > 0 && { hostnames }),
      rules: [
        { matches: [{ path: { type: 'PathPrefix', value: '/' } }], backendRefs, timeouts: { request: '0s' } },
      ],
    },
  }
}

function ingressOf(
  gateway: McpGateway,
  { className, host, tls, annotations }: NonNullable<Exposure['ingress']>,
): Kube<V1Ingress> {
  const service = { name: gatewayObjectName(gateway.metadata.name), port: { name: 'http' } }
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { ...metadataOf(gateway), ...(annotations && { annotations }) },
    spec: {
      ...(className !== undefined && { ingressClassName: className }),
      ...(tls && { tls: [{ hosts: [host], secretName: tls.secretName }] }),
      rules: [{ host, http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service } }] } }],
    },
  }
}

function metadataOf({ metadata: { name, namespace } }: McpGateway) {
  return { name: gatewayObjectName(name), namespace, labels: labelsOf('router', name) }
}
