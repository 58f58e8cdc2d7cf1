/** Translates NetworkPolicies into rules of nftables, as networking.k8s.io/v1 specifies them. Pure. */
import type {
  V1LabelSelector,
  V1Namespace,
  V1NetworkPolicy,
  V1NetworkPolicyPeer,
  V1NetworkPolicyPort,
  V1Pod,
} from '@kubernetes/client-node'
import type { JsonOf, Kube } from '../../../core/kube/object.ts'

export type Networked = {
  policies: readonly Kube<V1NetworkPolicy>[]
  pods: readonly Kube<V1Pod>[]
  namespaces: readonly Kube<V1Namespace>[]
}

type Pod = Kube<V1Pod>
type Direction = 'ingress' | 'egress'
type Rule = { peers?: JsonOf<V1NetworkPolicyPeer>[]; ports?: JsonOf<V1NetworkPolicyPort>[] }

const TABLE = 'inet portolan-policies'
/** Neighbour discovery of IPv6, to which no policy applies. */
const NEIGHBOURS = 'meta l4proto ipv6-icmp accept'
/** After kube-proxy has translated Services, whose rules run before. Traffic of the nodes themselves is not filtered. */
const HOOKS = ['forward', 'input'].map(
  hook =>
    `chain ${hook} { type filter hook ${hook} priority 10; ct state established,related accept; ${NEIGHBOURS}; jump pods; }`,
)

/** The whole table; it replaces the previous one. */
export function policyRules(world: Networked): string {
  const chains = world.pods.flatMap((pod, at) => [
    ...chainOf(world, pod, 'egress', `egress-${at}`),
    ...chainOf(world, pod, 'ingress', `ingress-${at}`),
  ])
  const jumps = chains.map(({ jump }) => jump)
  const table = ['chain pods {', ...jumps, '}', ...HOOKS]
  return [
    `table ${TABLE} {}`,
    `delete table ${TABLE}`,
    `table ${TABLE} {`,
    ...chains.map(({ text }) => text),
    ...table,
    '}',
    '',
  ].join('\n')
}

/** What a pod that policies select may send (`egress`) or get (`ingress`); none for a pod that no policy selects. */
function chainOf(world: Networked, pod: Pod, direction: Direction, name: string) {
  const { podIP, phase } = pod.status ?? {}
  if (!podIP || pod.spec?.hostNetwork || phase === 'Succeeded' || phase === 'Failed') return []
  const selecting = world.policies.filter(policy => isolates(policy, pod, direction))
  if (selecting.length === 0) return []
  const allowed = selecting.flatMap(policy =>
    rulesOf(policy, direction).flatMap(rule => matches(world, policy, pod, rule, direction)),
  )
  const side = direction === 'egress' ? 'saddr' : 'daddr'
  const text = [`chain ${name} {`, ...allowed.map(match => `${match} return`.trim()), 'drop', '}'].join('\n')
  return [{ text, jump: `${family(podIP)} ${side} ${podIP} jump ${name}` }]
}

function isolates({ metadata, spec }: Kube<V1NetworkPolicy>, pod: Pod, direction: Direction): boolean {
  const types = spec?.policyTypes ?? ['Ingress', ...(spec?.egress ? ['Egress'] : [])]
  const isOf = types.some(type => type.toLowerCase() === direction)
  return (
    isOf && metadata.namespace === pod.metadata.namespace && selects(spec?.podSelector, pod.metadata.labels)
  )
}

function rulesOf({ spec }: Kube<V1NetworkPolicy>, direction: Direction): Rule[] {
  return direction === 'egress'
    ? (spec?.egress ?? []).map(({ to, ports }) => ({ peers: to, ports }))
    : (spec?.ingress ?? []).map(({ from, ports }) => ({ peers: from, ports }))
}

/** One match for each peer and port. No peers, or no ports, means all of them. */
function matches(
  world: Networked,
  policy: Kube<V1NetworkPolicy>,
  pod: Pod,
  { peers, ports }: Rule,
  direction: Direction,
): string[] {
  const side = direction === 'egress' ? 'daddr' : 'saddr'
  const hosts = peers?.length
    ? peers.flatMap(peer => addressesOf(world, policy, peer).map(to => `${family(to)} ${side} ${to}`))
    : ['']
  const services = ports?.length ? ports.map(port => portMatch(port, pod)) : ['']
  return hosts.flatMap(host => services.map(service => `${host} ${service}`.trim()))
}

function addressesOf(
  { pods, namespaces }: Networked,
  policy: Kube<V1NetworkPolicy>,
  peer: JsonOf<V1NetworkPolicyPeer>,
): string[] {
  const { ipBlock, namespaceSelector, podSelector } = peer
  if (ipBlock) {
    if (ipBlock.except?.length) throw new Error('ipBlock.except is not supported')
    return [ipBlock.cidr]
  }
  const isIn = (name: string | undefined) =>
    namespaceSelector
      ? namespaces.some(
          ({ metadata }) => metadata.name === name && selects(namespaceSelector, metadata.labels),
        )
      : name === policy.metadata.namespace
  return pods
    .filter(
      ({ metadata }) => isIn(metadata.namespace) && (!podSelector || selects(podSelector, metadata.labels)),
    )
    .flatMap(({ status }) => (status?.podIP ? [status.podIP] : []))
}

/** The family of an address or subnet, by its name in nftables. */
function family(address: string): 'ip' | 'ip6' {
  return address.includes(':') ? 'ip6' : 'ip'
}

/** Names of ports are those of the selected pod: our policies name none at egress. */
function portMatch({ port, protocol = 'TCP', endPort }: JsonOf<V1NetworkPolicyPort>, pod: Pod): string {
  const found =
    typeof port === 'string'
      ? pod.spec?.containers.flatMap(({ ports = [] }) => ports).find(({ name }) => name === port)
      : undefined
  const number = found?.containerPort ?? port
  const kind = protocol.toLowerCase()
  if (number === undefined) return `meta l4proto ${kind}`
  return `${kind} dport ${number}${endPort === undefined ? '' : `-${endPort}`}`
}

function selects(
  selector: JsonOf<V1LabelSelector> | undefined,
  labels: Record<string, string> = {},
): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {}
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const has = labels[key] !== undefined
      if (operator === 'Exists' || operator === 'DoesNotExist') return has === (operator === 'Exists')
      return (has && values.includes(labels[key] ?? '')) === (operator === 'In')
    })
  )
}
