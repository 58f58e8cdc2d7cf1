/** The NetworkPolicies of servers and gateways. Pure. */
import type { V1NetworkPolicy, V1NetworkPolicyEgressRule, V1NetworkPolicyPeer } from '@kubernetes/client-node'
import { isExposed } from '../../core/catalog/accept.ts'
import { serverObjectName } from '../../core/catalog/object-names.ts'
import type { JsonOf, Kube } from '../../core/kube/object.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import type { McpServer } from '../../crds/server.ts'
import { packageOf } from './install-packages.ts'
import { ADMIN_PORT, componentLabels, gatewayObjectName, HTTP_PORT, labelsOf, selectorOf } from './names.ts'
import { containerPort } from './server-pods.ts'
import type { OperatorSettings } from './settings.ts'

const DNS_PORT = 53
const NAMESPACE_NAME = 'kubernetes.io/metadata.name'

/** Ingress: routers of the namespace, and the operator. Egress: DNS, the package registry and the manifest's rules. */
export function serverPolicy(server: McpServer, settings: OperatorSettings): Kube<V1NetworkPolicy> {
  const { name, namespace } = server.metadata
  const from: JsonOf<V1NetworkPolicyPeer>[] = [
    { podSelector: { matchLabels: componentLabels('router') } },
    operatorPeer(settings),
  ]
  const dns = { ports: ['UDP', 'TCP'].map(protocol => ({ protocol, port: DNS_PORT })) }
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: serverObjectName(name), namespace, labels: labelsOf('server', name) },
    spec: {
      podSelector: { matchLabels: selectorOf('server', name) },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from, ports: [tcp(containerPort(server))] }],
      egress: [
        dns,
        ...(server.spec.egress as JsonOf<V1NetworkPolicyEgressRule>[]),
        ...registry(server, settings),
      ],
    },
  }
}

/**
 * Ingress on the MCP port: the gateway's own namespace, those of `from`, and the operator; anywhere, if the Service admits callers from
 * outside the cluster. On the admin port: anywhere, for sidecars, the operator and monitoring. Egress is not restricted.
 */
export function gatewayPolicy(
  { metadata: { name, namespace }, spec }: McpGateway,
  settings: OperatorSettings,
): Kube<V1NetworkPolicy> {
  const from: JsonOf<V1NetworkPolicyPeer>[] = [
    { podSelector: {} },
    ...spec.from.map(({ namespaceSelector }) => ({ namespaceSelector })),
    operatorPeer(settings),
  ]
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: gatewayObjectName(name), namespace, labels: labelsOf('router', name) },
    spec: {
      podSelector: { matchLabels: selectorOf('router', name) },
      policyTypes: ['Ingress'],
      ingress: [
        { ports: [tcp(HTTP_PORT)], ...(isExposed(spec) ? {} : { from }) },
        { ports: [tcp(ADMIN_PORT)] },
      ],
    },
  }
}

function operatorPeer(settings: OperatorSettings): JsonOf<V1NetworkPolicyPeer> {
  return {
    namespaceSelector: { matchLabels: { [NAMESPACE_NAME]: settings.namespace } },
    podSelector: { matchLabels: componentLabels('operator') },
  }
}

/** A policy covers the whole pod with its installer. A manifest with `egress` has to allow the registry itself. */
function registry(server: McpServer, settings: OperatorSettings): JsonOf<V1NetworkPolicyEgressRule>[] {
  const wanted = packageOf(server, settings)
  if (!wanted || server.spec.egress.length > 0) return []
  return [{ ports: [tcp(portOf(wanted.registry))] }]
}

/** Without a URL the image's default registry is used, over https. */
function portOf(url: string | undefined): number {
  const { port = '', protocol = 'https:' } = URL.parse(url ?? '') ?? {}
  return port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port)
}

function tcp(port: number) {
  return { protocol: 'TCP', port }
}
