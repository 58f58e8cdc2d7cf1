/** One manifest in, one manifest or all of its problems out. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseManifest, parseStored } from './parse.ts'

const server = (spec: unknown, name: unknown = 'files') => ({
  apiVersion: 'portolan.dev/v1alpha1',
  kind: 'McpServer',
  metadata: { name },
  spec,
})
const problemsOf = (value: unknown) =>
  (parseManifest(value).problems ?? []).map(({ path, reason }) => `${path} ${reason}`)

test('a manifest comes back with every default filled in', () => {
  const { manifest } = parseManifest(server({ npm: { package: '@acme/files', version: '1.2.3' } }))
  assert.equal(manifest?.kind, 'McpServer')
  if (manifest?.kind !== 'McpServer') return
  assert.deepEqual(manifest.spec, {
    keywords: [],
    npm: { package: '@acme/files', version: '1.2.3', bin: '', args: [] },
    env: [],
    envFrom: [],
    headers: [],
    sessions: 'shared',
    scaling: { max: 1, callsPerPod: 10, external: false, idleAfter: '3m' },
    tools: { allow: ['*'], deny: [], overrides: {}, trustHints: false },
    discovery: { interval: '10m', perUser: false },
    limits: { callTimeout: '60s', startTimeout: '60s', concurrency: 16, maxResultBytes: '1Mi' },
    logging: { requests: true, payloads: 'none' },
    egress: [],
    suspend: false,
    tls: false,
  })
})

test('a gateway needs no spec at all', () => {
  const { manifest } = parseManifest({
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpGateway',
    metadata: { name: 'tools' },
  })
  assert.equal(manifest?.kind === 'McpGateway' && manifest.spec.profiles.default, 'hierarchical')
})

test('all problems of a manifest are reported at once, those across fields included', () => {
  const spec = {
    npm: { package: 'a@1' },
    remote: { url: 'example.com' },
    env: [{ name: 'A' }, { name: 'A' }],
    limits: { callTimeout: 60, concurency: 1 },
    sessions: 'peruser',
  }
  assert.deepEqual(problemsOf(server(spec, 'My_Server')), [
    'metadata.name Invalid',
    'spec.npm.package Invalid',
    'spec.remote.url Invalid',
    'spec.env[1].name Duplicate',
    'spec.sessions Invalid',
    'spec.limits.callTimeout InvalidType',
    'spec.limits.concurency UnknownField',
    'spec SourceAmbiguous',
  ])
})

test('each source is accepted by itself, and a manifest without any is a problem', () => {
  const sources = [
    { npm: { package: 'a' } },
    { pypi: { package: 'mcp-server-git[cli]', version: '1.0.0.post1' } },
    { image: { name: 'ghcr.io/acme/mcp:1.4', command: ['/server'] } },
    { image: { name: 'acme/mcp', transport: 'http', port: 8080 } },
    { remote: { url: 'https://example.com/mcp', transport: 'sse' } },
    { command: { run: './server', args: ['--x'] } },
  ]
  for (const source of sources) assert.deepEqual(problemsOf(server(source)), [], JSON.stringify(source))
  assert.deepEqual(problemsOf(server({})), ['spec SourceMissing'])
})

test('fields that do not apply to a source are problems, not silently ignored', () => {
  const header = { name: 'Authorization', value: 'x' }
  assert.deepEqual(problemsOf(server({ npm: { package: 'a' }, headers: [header] })), [
    'spec.headers NotApplicable',
  ])
  const env = [{ name: 'A', value: '1' }]
  assert.deepEqual(problemsOf(server({ remote: { url: 'https://x.org' }, env })), ['spec.env NotApplicable'])
})

test('names are DNS labels of at most 45 characters, and portolan is reserved', () => {
  const npm = { npm: { package: 'a' } }
  for (const name of ['a', 'a-1', 'x'.repeat(45)]) assert.deepEqual(problemsOf(server(npm, name)), [], name)
  for (const name of ['', 'A', '1a', 'a-', 'a.b', 'a_b', 'x'.repeat(46), 'portolan', 7, 'a\n']) {
    assert.equal(problemsOf(server(npm, name)).length, 1, String(name))
  }
})

test('an empty field counts as absent, as for the API server', () => {
  assert.deepEqual(problemsOf(server({ npm: { package: 'a', args: null }, env: null, headers: null })), [])
})

test('fields that the API server adds to an object are accepted', () => {
  const metadata = {
    name: 'a',
    uid: 'u',
    resourceVersion: '1',
    generation: 2,
    managedFields: [],
    creationTimestamp: null,
  }
  const status = {
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        reason: 'Ready',
        message: '',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ],
  }
  assert.deepEqual(problemsOf({ ...server({ npm: { package: 'a' } }), metadata, status }), [])
})

test('a status that another version wrote does not make an object of the API server invalid', () => {
  const condition = {
    type: 'Ready',
    status: 'True',
    reason: 'Ready',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }
  const stored = (status: unknown, spec: object = { npm: { package: 'a' } }) => {
    const { manifest, problems } = parseStored({ ...server(spec), status })
    return manifest?.kind === 'McpServer' ? (manifest.status ?? 'none') : problems?.map(({ path }) => path)
  }
  const counts = { replicas: { wanted: 1 }, resources: 2 }
  const known = { conditions: [condition], ...counts }
  const more = {
    ...known,
    conditions: [{ ...condition, later: 1 }],
    replicas: { wanted: 1, later: {} },
    later: [],
  }
  assert.deepEqual(stored(known), known)
  assert.deepEqual(stored(more), known)
  assert.deepEqual(stored({ ...more, resources: 'two' }), {
    conditions: [condition],
    replicas: { wanted: 1 },
  })
  assert.deepEqual(stored({ ...more, conditions: [{ ...condition, status: 'Later' }] }), counts)
  assert.equal(stored('later'), 'none')
  assert.deepEqual(stored(more, { npm: { package: 'a' }, later: 1 }), ['spec.later'])
})

test('other kinds of Kubernetes are skipped, misspelt ones of ours are not', () => {
  assert.deepEqual(parseManifest({ apiVersion: 'apps/v1', kind: 'Deployment' }), {
    skipped: { apiVersion: 'apps/v1', kind: 'Deployment' },
  })
  assert.deepEqual(problemsOf({ apiVersion: 'portolan.dev/v1alpha1', kind: 'McpSever' }), [
    'kind UnknownKind',
  ])
  assert.deepEqual(problemsOf({ apiVersion: 'portolan.dev/v1', kind: 'McpServer' }), [
    'apiVersion UnknownApiVersion',
  ])
  assert.deepEqual(problemsOf({ apiVersion: 'v1', kind: 'McpServer' }), ['apiVersion UnknownApiVersion'])
  assert.deepEqual(problemsOf({ kind: 'McpServer', spec: {} }), ['apiVersion MissingField'])
})

test('no value makes parsing throw', () => {
  const odd = [
    undefined,
    null,
    0,
    '',
    [],
    'x',
    { kind: 'toString' },
    { kind: '__proto__', apiVersion: 'v1' },
    server('x'),
    server([]),
  ]
  for (const value of odd) assert.doesNotThrow(() => parseManifest(value))
})

test('problems never contain the value of a secret', () => {
  const value = 's3cr3t-value'
  const text = JSON.stringify([
    parseManifest({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' }, data: { key: value } }),
    parseManifest(server({ remote: { url: `https://user:${value}@example.com` } })),
    parseManifest(server({ npm: { package: 'a' }, env: [{ name: 'A', value: [value] }] })),
    parseManifest(server({ npm: { package: 'a' }, env: value })),
  ])
  assert.ok(text.includes('base64') && text.includes('user or password'))
  assert.ok(!text.includes(value))
})

test('headers of the protocol itself, those of revision 2026-07-28 included, cannot be set', () => {
  const headers = ['Mcp-Session-Id', 'Mcp-Method', 'mcp-name', 'X-Team'].map(name => ({ name, value: 'a' }))
  assert.deepEqual(problemsOf(server({ remote: { url: 'https://x.org' }, headers })), [
    'spec.headers[0].name Invalid',
    'spec.headers[1].name Invalid',
    'spec.headers[2].name Invalid',
  ])
})
