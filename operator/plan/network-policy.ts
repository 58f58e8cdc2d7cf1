/** The NetworkPolicies of servers and gateways. Pure. */
import type {
  V1LabelSelector,
  V1NetworkPolicy,
  V1NetworkPolicyEgressRule,
  V1NetworkPolicyIngressRule,
  V1NetworkPolicyPeer,
} from '@kubernetes/client-node'
import { isExposed } from '../../core/catalog/accept.ts'
import { isBridged } from '../../core/catalog/endpoint.ts'
import { hasInstances } from '../../core/catalog/instances.ts'
import { serverObjectName } from '../../core/catalog/object-names.ts'
import type { JsonOf, Kube } from '../../core/kube/object.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import type { McpServer } from '../../crds/server.ts'
import { packageOf } from './install-packages.ts'
import {
  ADMIN_PORT,
  componentLabels,
  gatewayObjectName,
  HTTP_PORT,
  INSTALLED_LABEL,
  installPolicyName,
  LABEL,
  labelsOf,
  METRICS_PORT,
  selectorOf,
} from './names.ts'
import { containerPort } from './server-pods.ts'
import type { OperatorSettings } from './settings.ts'

/** Policies see the port of the pod behind the Service; OpenShift's DNS pods listen on 5353. */
const DNS_PORTS = [53, 5353]
const NAMESPACE_NAME = 'kubernetes.io/metadata.name'
/** Label of pods that run a router as a sidecar; its value is the gateway. */
const SIDECAR_OF = 'portolan.dev/gateway'

/** Ingress: routers of the namespace and the operator; for metrics, `metricsFrom`. Egress: the cluster's DNS and the manifest's rules. */
export function serverPolicy(server: McpServer, settings: OperatorSettings): Kube<V1NetworkPolicy> {
  const { name, namespace } = server.metadata
  const from: JsonOf<V1NetworkPolicyPeer>[] = [
    { podSelector: { matchLabels: componentLabels('router') } },
    operatorPeer(settings),
  ]
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: serverObjectName(name), namespace, labels: labelsOf('server', name) },
    spec: {
      podSelector: podsOf(server),
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from, ports: [tcp(containerPort(server))] }, ...metrics(server, settings)],
      egress: [...dns(settings), ...(server.spec.egress as JsonOf<V1NetworkPolicyEgressRule>[])],
    },
  }
}

/** Lets the installer of a package reach the port of its registry. Once a pod has installed its package, it gets a label and is no longer selected. */
export function installPolicy(server: McpServer, settings: OperatorSettings): Kube<V1NetworkPolicy>[] {
  const wanted = packageOf(server, settings)
  const { name, namespace } = server.metadata
  if (!wanted) return []
  const notYet = [{ key: INSTALLED_LABEL, operator: 'DoesNotExist' }]
  const selector = podsOf(server)
  return [
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: installPolicyName(name), namespace, labels: labelsOf('server', name) },
      spec: {
        podSelector: { ...selector, matchExpressions: [...(selector.matchExpressions ?? []), ...notYet] },
        policyTypes: ['Egress'],
        egress: [{ ports: [tcp(portOf(wanted.registry))] }],
      },
    },
  ]
}

/**
 * Ingress on the MCP port: from the gateway's own namespace, those of `from`, and the operator; from anywhere, if the gateway is exposed
 * outside the cluster. On the admin port: from the gateway's routers and sidecars, the operator, and the pods that the chart allows to read
 * metrics. Egress is not restricted.
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
  const routers: JsonOf<V1NetworkPolicyPeer>[] = [
    { podSelector: { matchLabels: selectorOf('router', name) } },
    { podSelector: { matchLabels: { [SIDECAR_OF]: name } } },
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
        { ports: [tcp(ADMIN_PORT)], from: [...routers, operatorPeer(settings), ...settings.metricsFrom] },
      ],
    },
  }
}

/** The pods of a server, with those of its users, since none of them may connect to another. */
function podsOf(server: McpServer): JsonOf<V1LabelSelector> {
  const { name } = server.metadata
  if (!hasInstances(server)) return { matchLabels: selectorOf('server', name) }
  const { [LABEL.component]: _, ...matchLabels } = selectorOf('server', name)
  return {
    matchLabels,
    matchExpressions: [{ key: LABEL.component, operator: 'In', values: ['server', 'user'] }],
  }
}

/** Admits readers of a bridge's metrics. No rule if there are no peers, since a rule with an empty `from` would admit everybody. */
function metrics(server: McpServer, { metricsFrom }: OperatorSettings): JsonOf<V1NetworkPolicyIngressRule>[] {
  return isBridged(server) && metricsFrom.length > 0
    ? [{ from: metricsFrom, ports: [tcp(METRICS_PORT)] }]
    : []
}

function operatorPeer(settings: OperatorSettings): JsonOf<V1NetworkPolicyPeer> {
  return {
    namespaceSelector: { matchLabels: { [NAMESPACE_NAME]: settings.namespace } },
    podSelector: { matchLabels: componentLabels('operator') },
  }
}

/** Allows DNS queries. No rule if there are no peers, since a rule with an empty `to` would allow port 53 of every host, and tunnels through it. */
function dns({ dns }: OperatorSettings): JsonOf<V1NetworkPolicyEgressRule>[] {
  const ports = DNS_PORTS.flatMap(port => ['UDP', 'TCP'].map(protocol => ({ protocol, port })))
  return dns.length > 0 ? [{ to: dns, ports }] : []
}

/** The port of a registry. Without a URL the image's default registry is used, over https. */
function portOf(url: string | undefined): number {
  const { port = '', protocol = 'https:' } = URL.parse(url ?? '') ?? {}
  return port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port)
}

function tcp(port: number) {
  return { protocol: 'TCP', port }
}
