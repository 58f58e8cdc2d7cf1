/** NetworkPolicies are translated into rules of nftables as their API specifies. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Networked, policyRules } from './rules.ts'

const namespaces = ['a', 'b'].map(name => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { name } },
}))
const pods = [
  pod('a', 'server', '10.0.0.1', { app: 'server' }),
  pod('a', 'router', '10.0.0.2', { app: 'router' }),
  pod('b', 'dns', '10.0.0.3', { app: 'dns' }),
  pod('b', 'server', '10.0.0.4', { app: 'server' }),
]

test('a selected pod may send and receive what any of its policies allows, and nothing else', () => {
  const server = { matchLabels: { app: 'server' } }
  const rules = chains([
    policy('a', server, {
      ingress: [{ from: [{ podSelector: { matchLabels: { app: 'router' } } }], ports: [{ port: 8080 }] }],
      egress: [
        {
          to: [
            {
              namespaceSelector: { matchLabels: { name: 'b' } },
              podSelector: { matchLabels: { app: 'dns' } },
            },
          ],
          ports: [{ port: 53, protocol: 'UDP' }],
        },
      ],
    }),
    policy(
      'a',
      { matchExpressions: [{ key: 'installed', operator: 'DoesNotExist' }] },
      { egress: [{ ports: [{ port: 443 }] }] },
    ),
  ])
  assert.deepEqual(rules, {
    '10.0.0.1 saddr': ['ip daddr 10.0.0.3 udp dport 53 return', 'tcp dport 443 return', 'drop'],
    '10.0.0.1 daddr': ['ip saddr 10.0.0.2 tcp dport 8080 return', 'drop'],
    '10.0.0.2 saddr': ['tcp dport 443 return', 'drop'],
  })
})

test('a policy without rules denies everything, an empty rule allows everything, no policy filters nothing', () => {
  const deny = policy('b', {}, { ingress: [], egress: [{}] })
  assert.deepEqual(chains([deny]), {
    '10.0.0.3 saddr': ['return', 'drop'],
    '10.0.0.3 daddr': ['drop'],
    '10.0.0.4 saddr': ['return', 'drop'],
    '10.0.0.4 daddr': ['drop'],
  })
  assert.deepEqual(chains([]), {})
})

/** The rules of each chain, by the match that leads to it. */
function chains(policies: Networked['policies']): Record<string, string[]> {
  const text = policyRules({ policies, pods, namespaces })
  const found = [...text.matchAll(/ip ([sd]addr) (\S+) jump (\S+)/g)].map(([, side, address, name]) => {
    const body = text.match(new RegExp(`chain ${name} \\{\\n([^}]*)\\n\\}`))?.[1] ?? ''
    return [`${address} ${side}`, body.split('\n')] as const
  })
  return Object.fromEntries(found)
}

function policy(namespace: string, podSelector: object, rules: object): Networked['policies'][number] {
  const policyTypes = Object.keys(rules).map(name => name.replace(/^./, first => first.toUpperCase()))
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'x', namespace },
    spec: { podSelector, policyTypes, ...rules },
  }
}

function pod(
  namespace: string,
  name: string,
  podIP: string,
  labels: Record<string, string>,
): Networked['pods'][number] {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels },
    status: { podIP, phase: 'Running' },
  }
}
