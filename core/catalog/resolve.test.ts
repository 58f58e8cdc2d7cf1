/** From manifests and what was observed to the config of a router. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auth } from '../../crds/access.ts'
import type { McpGatewaySpec } from '../../crds/gateway.ts'
import { parseManifest } from '../../crds/parse.ts'
import type { McpServer, McpServerSpecInput } from '../../crds/server.ts'
import { connectionDigest, sourceDigest } from './digests.ts'
import { endpointOf, secretsOf } from './endpoint.ts'
import { defaultGateway, resolve, type ServerObservation } from './resolve.ts'

const NOW = 1_000_000
const npm = { npm: { package: 'a' } }
const REMOTE = { remote: { url: 'https://example.com/mcp' } }

function server(name: string, spec: McpServerSpecInput = npm, metadata: object = {}): McpServer {
  const value = {
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpServer',
    metadata: { name, ...metadata },
    spec,
  }
  const { manifest, problems } = parseManifest(value)
  assert.ok(manifest?.kind === 'McpServer', JSON.stringify(problems))
  return manifest
}

function gateway(spec: Partial<McpGatewaySpec> = {}, namespace = 'default') {
  const standard = defaultGateway()
  return { ...standard, metadata: { name: 'tools', namespace }, spec: { ...standard.spec, ...spec } }
}

function resolveLocal(
  servers: McpServer[],
  observed: Record<string, ServerObservation> = {},
  more: object = {},
) {
  return resolve({
    servers,
    observed: new Map(Object.entries(observed)),
    placement: 'local',
    now: NOW,
    ...more,
  })
}

const statusOf = (spec: McpServerSpecInput, observation?: Partial<ServerObservation>) => {
  const observed = observation && { a: { state: 'ready' as const, since: NOW, ...observation } }
  const { config, after } = resolveLocal([server('a', spec)], observed ?? {})
  return { ...config.servers[0]?.status, after }
}

test('servers are sorted, whatever order the manifests came in', () => {
  const names = resolveLocal([server('b'), server('c'), server('a')]).config.servers.map(({ name }) => name)
  assert.deepEqual(names, ['a', 'b', 'c'])
})

test('a gateway sees the servers of its own namespace that its selector matches', () => {
  const servers = [
    server('a', npm, { labels: { team: 'x', tier: 'gold' } }),
    server('b', npm, { labels: { team: 'y' } }),
    server('c', npm, { labels: { team: 'x' }, namespace: 'other' }),
    server('d'),
  ]
  const selected = (selector: McpGatewaySpec['servers']['selector'], namespace?: string) =>
    resolveLocal(servers, {}, { gateway: gateway({ servers: { selector } }, namespace) }).config.servers.map(
      ({ name }) => name,
    )
  assert.deepEqual(selected({}), ['a', 'b', 'd'])
  assert.deepEqual(selected({}, 'other'), ['c'])
  assert.deepEqual(selected({ matchLabels: { team: 'x' } }), ['a'])
  const where = (key: string, operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist', values?: string[]) =>
    selected({ matchExpressions: [{ key, operator, values }] })
  assert.deepEqual(where('team', 'In', ['y', 'z']), ['b'])
  assert.deepEqual(where('team', 'NotIn', ['y']), ['a', 'd'])
  assert.deepEqual(where('tier', 'Exists'), ['a'])
  assert.deepEqual(where('toString', 'Exists'), [])
  assert.deepEqual(where('team', 'DoesNotExist'), ['d'])
})

test('without a gateway every server of every namespace is served', () => {
  const { config } = resolveLocal([server('a'), server('b', npm, { namespace: 'other' })])
  assert.deepEqual(config.gateway, { name: 'default', namespace: 'default' })
  assert.deepEqual(
    config.servers.map(({ namespace }) => namespace),
    ['default', 'other'],
  )
})

test('a failed server is hidden after 30 s, and `after` is the time until then', () => {
  const failed = { state: 'failed' as const, reason: 'CrashLooping', message: 'it ended with code 1' }
  assert.deepEqual(statusOf(npm, { ...failed, since: NOW - 30_000 }), { ...failed, hidden: false, after: 1 })
  assert.deepEqual(statusOf(npm, { ...failed, since: NOW - 30_001 }), {
    ...failed,
    hidden: true,
    after: undefined,
  })
})

test('ready, starting and asleep are shown; authRequired and suspended are hidden', () => {
  const hidden = (state: ServerObservation['state']) => statusOf(npm, { state }).hidden
  assert.deepEqual(
    [hidden('ready'), hidden('starting'), hidden('asleep'), hidden('authRequired')],
    [false, false, false, true],
  )
  assert.deepEqual(statusOf({ ...npm, suspend: true }, { state: 'ready' }), {
    state: 'suspended',
    reason: 'Suspended',
    message: 'switched off by its manifest',
    hidden: true,
    after: undefined,
  })
  assert.equal(statusOf(npm).state, 'starting')
})

test('a server that its placement cannot run is refused with a reason', () => {
  const reasons = (spec: McpServerSpecInput, placement: 'local' | 'cluster') => {
    const { config, problems } = resolve({
      servers: [server('a', spec)],
      observed: new Map(),
      placement,
      now: NOW,
    })
    return [
      config.servers[0]?.status.state,
      ...problems.map(({ name, reason, path }) => `${name} ${path} ${reason}`),
    ]
  }
  const pinned = { npm: { package: 'a', version: '1.0.0' } }
  const command = { command: { run: 'x' } }
  assert.deepEqual(reasons(command, 'local'), ['starting'])
  assert.deepEqual(reasons(command, 'cluster'), ['notAccepted', 'a spec.command LocalOnly'])
  for (const placement of ['local', 'cluster'] as const)
    assert.deepEqual(reasons({ ...pinned, scaling: { min: 0 } }, placement), ['starting'])
  for (const placement of ['local', 'cluster'] as const)
    assert.deepEqual(reasons({ ...pinned, tools: { pin: 'Hold' } }, placement), ['starting'])
  for (const hidden of [
    { description: 'a\u202Eb' },
    { tools: { overrides: { t: { keywords: ['\u200B'] } } } },
  ]) {
    const [path] = Object.keys(hidden)
    assert.deepEqual(reasons({ ...pinned, ...hidden }, 'cluster'), [
      'starting',
      `a spec.${path === 'tools' ? 'tools.overrides' : path} HiddenCharacters`,
    ])
  }
  const http = { image: { name: 'i', transport: 'http', port: 80 } } as const
  assert.deepEqual(reasons(http, 'local'), ['notAccepted', 'a spec.image.transport ClusterOnly'])
  assert.deepEqual(reasons(http, 'cluster'), ['starting'])
  const egress = [{ ports: [{ port: 443 }] }]
  assert.deepEqual(reasons({ ...npm, egress }, 'local'), ['notAccepted', 'a spec.egress ClusterOnly'])
  assert.deepEqual(reasons({ ...pinned, egress }, 'cluster'), ['starting'])
  const env = [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }]
  assert.deepEqual(reasons({ ...npm, env }, 'local'), ['notAccepted', 'a spec.env[0].valueFrom ClusterOnly'])
  assert.deepEqual(reasons({ ...pinned, env }, 'cluster'), ['starting'])
  assert.deepEqual(reasons(npm, 'local'), ['starting'])
  assert.deepEqual(reasons(npm, 'cluster'), ['starting', 'a spec.npm.version NotPinned'])
})

test('a gateway that its operator refuses offers nothing, with the reason', () => {
  const refusals = [{ reason: 'NotEnforced', path: 'spec.auth', message: 'nothing would enforce it' }]
  const { config, problems } = resolveLocal(
    [server('a', { npm: { package: 'a', version: '1.0.0' } })],
    { a: { state: 'ready', since: NOW } },
    { gateway: gateway({}), placement: 'cluster', refusals },
  )
  assert.deepEqual(
    problems.map(({ kind, path, reason }) => `${kind} ${path} ${reason}`),
    ['McpGateway spec.auth NotEnforced'],
  )
  const { state, reason, hidden } = config.servers[0]?.status ?? {}
  assert.deepEqual([state, reason, hidden], ['notAccepted', 'NotEnforced', true])
})

test('reviews of tokens are for clusters only', () => {
  const reviewed = gateway({ auth: auth.parse({ serviceAccounts: { review: '60s' } }) })
  const reasonsIn = (placement: 'local' | 'cluster') =>
    resolveLocal([], {}, { gateway: reviewed, placement }).problems.map(
      ({ path, reason }) => `${path} ${reason}`,
    )
  assert.deepEqual(reasonsIn('local'), ['spec.auth.serviceAccounts ClusterOnly'])
  assert.deepEqual(reasonsIn('cluster'), [])
  assert.deepEqual(resolveLocal([], {}, { gateway: gateway({ access: [] }) }).problems, [])
})

test('limits are divided by the largest number of routers that replicas or autoscaling allow', () => {
  const routersOf = (router: object) => {
    const spec = { router: { ...defaultGateway().spec.router, ...router } }
    const input = { gateway: gateway(spec), servers: [server('a')], observed: new Map(), now: NOW }
    return resolve({ ...input, placement: 'cluster' }).config.routers
  }
  assert.equal(routersOf({ replicas: 3 }), 3)
  assert.equal(routersOf({ autoscaling: { maxReplicas: 9 } }), 9)
  assert.equal(routersOf({ autoscaling: { minReplicas: 2 } }), 5)
  assert.equal(routersOf({ autoscaling: { minReplicas: 7 } }), 7)
})

test('the stricter of server and gateway decides what of payloads is logged', () => {
  const unchanged = { arguments: 'None', sink: 'Stdout', onOverflow: 'Drop' } as const
  const payloads = (own: 'none' | 'redacted' | 'full', audit: 'none' | 'redacted' | 'full') =>
    resolveLocal(
      [server('a', { ...npm, logging: { payloads: own } })],
      {},
      { gateway: gateway({ audit: { ...unchanged, payloads: audit, events: [] } }) },
    ).config.servers[0]?.logging.payloads
  assert.deepEqual(
    [
      payloads('full', 'none'),
      payloads('full', 'redacted'),
      payloads('redacted', 'full'),
      payloads('full', 'full'),
    ],
    ['none', 'redacted', 'redacted', 'full'],
  )
})

test('in a cluster servers are reached at their Service, a remote at its own address', () => {
  const endpoint = (spec: McpServerSpecInput) => {
    const { config } = resolve({
      servers: [server('a', spec, { namespace: 'ns' })],
      observed: new Map(),
      placement: 'cluster',
      now: NOW,
    })
    const found = config.servers[0]?.endpoint
    return found?.kind === 'http' ? `${found.transport} ${found.url}` : found?.kind
  }
  assert.equal(endpoint(npm), 'streamable-http http://mcp-a.ns.svc/mcp')
  assert.equal(
    endpoint({ image: { name: 'i', transport: 'http', port: 8080, path: '/x' } }),
    'streamable-http http://mcp-a.ns.svc/x',
  )
  assert.equal(
    endpoint({ remote: { url: 'https://example.com/sse', transport: 'sse' } }),
    'sse https://example.com/sse',
  )
})

test('a router keeps the session of a client as long as the bridge does', () => {
  const more = { sessions: 'perClient', scaling: { idleAfter: '30m' } } as const
  const servers = [server('a', { ...npm, ...more }), server('b', { ...REMOTE, ...more })]
  const [a, b] = resolveLocal(servers, {}, { placement: 'cluster' }).config.servers
  assert.deepEqual([a?.sessionIdleMs, b?.sessionIdleMs], [30 * 60_000, undefined])
})

test('only changes of fields that make up the connection need a new connection', () => {
  const base = server('a', { ...npm, title: 'A' })
  const revision = (spec: McpServerSpecInput, inputs?: string) => connectionDigest(server('a', spec), inputs)
  assert.equal(
    revision({ ...npm, title: 'B', keywords: ['x'], tools: { deny: ['y'] }, limits: { callTimeout: '1s' } }),
    connectionDigest(base),
  )
  const others = [
    revision({ npm: { package: 'b' } }),
    revision({ ...npm, env: [{ name: 'A', value: '1' }] }),
    revision({ ...npm, sessions: 'perClient' }),
    revision({ ...npm, scaling: { idleAfter: '1m' } }),
    revision(npm, 'another secret'),
    connectionDigest(base),
  ]
  assert.equal(new Set(others).size, others.length)
  assert.equal(sourceDigest(server('a', { ...npm, sessions: 'perClient' })), sourceDigest(base))
})

test('credentials of an endpoint are references, and only values of ConfigMaps are read', () => {
  const from = (name: string, ref: object) => ({ name, valueFrom: ref })
  const http = server('a', {
    ...REMOTE,
    headers: [
      { name: 'A', value: 'plain' },
      from('B', { secretKeyRef: { name: 's', key: 'k' } }),
      from('C', { configMapKeyRef: { name: 'c', key: 'k' } }),
      from('D', { configMapKeyRef: { name: 'absent', key: 'k' } }),
    ],
  })
  const endpoint = endpointOf(http, 'cluster', { configMaps: new Map([['c', { k: 'value\n' }]]) })
  assert.deepEqual(endpoint.kind === 'http' && endpoint.headers, [
    { name: 'A', value: 'plain' },
    { name: 'B', secret: { name: 's', key: 'k' } },
    { name: 'C', value: 'value' },
  ])
  assert.deepEqual(secretsOf(endpoint), ['s'])
  assert.deepEqual(secretsOf(endpointOf(server('a'), 'cluster')), ['mcp-a'])
  assert.deepEqual(secretsOf(endpointOf(server('a'), 'local')), [])
})

test('the search settings of a gateway are passed on, with the reference to the key', () => {
  const searchOf = (search: McpGatewaySpec['search']) =>
    resolveLocal([], {}, { gateway: gateway({ search }) }).config.search
  const embeddings = { url: 'https://a.example/v1', model: 'm' }
  const secretRef = { name: 'vault', key: 'token' }
  assert.deepEqual(searchOf({ semantic: 'none' }), { semantic: 'none' })
  assert.deepEqual(searchOf({ semantic: 'auto', embeddings }), { semantic: 'auto', embeddings })
  assert.deepEqual(searchOf({ semantic: 'auto', embeddings: { ...embeddings, secretRef } }), {
    semantic: 'auto',
    embeddings: { ...embeddings, secret: secretRef },
  })
})
