/** The five examples of access, unchanged: what their callers see, and what they are refused. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { identityOf } from '../../cli/identity.ts'
import { reportAccess } from '../../core/catalog/access-report.ts'
import { resolve } from '../../core/catalog/resolve.ts'
import { createLog } from '../../core/log.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import { type Manifest, parseManifest } from '../../crds/parse.ts'
import type { Secret } from '../../crds/secret.ts'
import type { McpServer } from '../../crds/server.ts'
import { callerCredentials, withToken } from '../../local/caller-tokens.ts'
import { startRouter } from '../../router/router.ts'
import { createInProcessSource } from '../../router/source/in-process-source.ts'
import { echo, snapshotOf, upstreamOf } from '../meta/fixture.ts'
import { until } from '../support/until.ts'
import { send } from './access-router.ts'

const FOLDER = join(import.meta.dirname, '../../examples/access')
/** What server-memory offers. */
const TOOLS = [
  'create_entities',
  'add_observations',
  'delete_entities',
  'read_graph',
  'search_nodes',
  'open_nodes',
]

/** The tools that callers see: by file, then by the name of the caller's token in the example's Secret. */
const BY_TOKEN: Record<string, Record<string, string[]>> = {
  'read-only.yaml': { reporter: ['open_nodes', 'read_graph', 'search_nodes'] },
  'ci-job.yaml': { nightly: ['add_observations', 'create_entities', 'read_graph'] },
}

const memory = {
  apiVersion: 'portolan.dev/v1alpha1',
  kind: 'McpServer',
  metadata: { name: 'memory', labels: { team: 'platform' } },
  spec: {
    npm: { package: '@modelcontextprotocol/server-memory', version: '2026.8.31' },
    tools: { overrides: { read_graph: { readOnly: true } } },
  },
}
const EVERYTHING = TOOLS.toSorted()
/** The same for callers without such a token: by file, then by identity. Examples without a server get the server `memory`. */
const BY_IDENTITY: Record<string, Record<string, string[]>> = {
  'agents.yaml': {
    'sa:agents/triage': EVERYTHING.filter(name => name !== 'delete_entities'),
    'sa:agents/other': [],
  },
  'company.yaml': { 'group:okta/dev': EVERYTHING, 'user:okta/ada': ['read_graph'] },
  'laptop.yaml': { anonymous: EVERYTHING },
}

for (const [file, callers] of Object.entries(BY_TOKEN)) {
  test(`${file} grants each caller the expected tools, and refuses callers without a token`, async t => {
    const manifests = manifestsOf(file)
    const { list } = await serve(t, manifests)
    assert.equal((await list()).status, 401)
    for (const [name, expected] of Object.entries(callers))
      assert.deepEqual((await list(find<Secret>(manifests, 'Secret')?.stringData?.[name])).seen, expected)
  })
}

for (const [file, callers] of Object.entries(BY_IDENTITY)) {
  test(`${file} grants each identity the expected tools`, async t => {
    for (const [as, expected] of Object.entries(callers)) {
      const { list } = await serve(t, manifestsOf(file, memory), identityOf({ as: [as] }))
      assert.deepEqual((await list()).seen, expected, as)
    }
  })
}

test('laptop.yaml, served with a token, admits only callers that send it', async t => {
  const token = 'a-token-that-was-made-for-this-run-of-it'
  const { list } = await serve(t, manifestsOf('laptop.yaml'), undefined, token)
  assert.equal((await list()).status, 401)
  assert.deepEqual((await list(token)).seen, EVERYTHING)
})

test('every example is tested', () => {
  const files = readdirSync(FOLDER).filter(name => name.endsWith('.yaml'))
  assert.deepEqual(files.sort(), [...Object.keys(BY_TOKEN), ...Object.keys(BY_IDENTITY)].sort())
})

function manifestsOf(file: string, ...more: object[]): Manifest[] {
  const documents = parseAllDocuments(readFileSync(join(FOLDER, file), 'utf8')).map(document =>
    document.toJS(),
  )
  const manifests = documents.flatMap(document => {
    const { manifest, problems } = parseManifest(document)
    assert.deepEqual(problems, undefined)
    return manifest ?? []
  })
  if (find(manifests, 'McpServer')) return manifests
  return [...manifests, ...more.map(one => parseManifest(one).manifest as Manifest)]
}

function find<Kind extends Manifest>(manifests: readonly Manifest[], kind: string): Kind | undefined {
  return manifests.find(one => one.kind === kind) as Kind | undefined
}

/** The example as a laptop runs it, or as a cluster does for the identity `assumed`. */
async function serve(t: TestContext, manifests: readonly Manifest[], assumed?: Identity, token?: string) {
  const { config, problems } = resolve({
    gateway: find<McpGateway>(manifests, 'McpGateway'),
    servers: [find<McpServer>(manifests, 'McpServer') as McpServer],
    observed: new Map([['memory', { state: 'ready', since: 0 }]]),
    placement: assumed ? 'cluster' : 'local',
    now: 0,
  })
  assert.deepEqual(problems, [])
  const source = createInProcessSource()
  const router = await startRouter({
    source,
    connect: () => upstreamOf(echo),
    host: '127.0.0.1',
    port: 0,
    log: createLog({ level: 'silent' }),
    credentials: callerCredentials(token, () => find<Secret>(manifests, 'Secret')?.stringData),
    assumed,
  })
  t.after(() => router.close(0))
  const tools = TOOLS.map(name => ({ name, description: name, inputSchema: { type: 'object' } }))
  const { catalogs } = snapshotOf({ memory: { offers: { tools } } }, {}, 1)
  const access = withToken(config.access, token)
  assert.deepEqual(reportAccess({ ...config, catalogs }).findings, [])
  source.publish({ generation: 1, config: { ...config, access, allowedProfiles: ['direct'] }, catalogs })
  await until(() => router.catalog())
  const { origin } = new URL(router.url)
  return {
    async list(token?: string) {
      const asked = { method: 'tools/list', params: {} }
      const { status, text } = await send(origin, asked, { path: '/mcp/direct', token })
      return { status, seen: [...text.matchAll(/"name":"memory__(\w+)"/g)].map(([, tool]) => tool).sort() }
    },
  }
}
