/** The examples of access that run on a laptop, as they stand: what their callers see, and what they are refused. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { resolve } from '../../core/catalog/resolve.ts'
import { createLog } from '../../core/log.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import { type Manifest, parseManifest } from '../../crds/parse.ts'
import type { Secret } from '../../crds/secret.ts'
import type { McpServer } from '../../crds/server.ts'
import { startRouter } from '../../router/router.ts'
import { createInProcessSource } from '../../router/source/in-process-source.ts'
import { echo, snapshotOf, upstreamOf } from '../meta/fixture.ts'
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

const EXPECTED: Record<string, Record<string, string[]>> = {
  'read-only.yaml': { reporter: ['open_nodes', 'read_graph', 'search_nodes'] },
  'ci-job.yaml': { nightly: ['add_observations', 'create_entities', 'read_graph'] },
}

for (const [file, callers] of Object.entries(EXPECTED)) {
  test(`${file} grants its callers what it says, and nobody else anything`, async t => {
    const manifests = parseAllDocuments(readFileSync(join(FOLDER, file), 'utf8')).map(document => {
      const { manifest } = parseManifest(document.toJS())
      assert.ok(manifest)
      return manifest
    })
    const of = <Kind extends Manifest>(kind: string) => manifests.find(one => one.kind === kind) as Kind
    const { config, problems } = resolve({
      gateway: of<McpGateway>('McpGateway'),
      servers: [of<McpServer>('McpServer')],
      observed: new Map([['memory', { state: 'ready', since: 0 }]]),
      placement: 'local',
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
      credentials: { secret: () => of<Secret>('Secret').stringData },
    })
    t.after(() => router.close(0))
    const tools = TOOLS.map(name => ({ name, description: name, inputSchema: { type: 'object' } }))
    const { catalogs } = snapshotOf({ memory: { offers: { tools } } }, {}, 1)
    source.publish({ generation: 1, config: { ...config, allowedProfiles: ['direct'] }, catalogs })
    while (!router.catalog()) await new Promise(resolve => setImmediate(resolve))
    const { origin } = new URL(router.url)
    const list = { method: 'tools/list', params: {} }
    assert.equal((await send(origin, list, { path: '/mcp/direct' })).status, 401)
    for (const [name, expected] of Object.entries(callers)) {
      const token = of<Secret>('Secret').stringData?.[name]
      const { text } = await send(origin, list, { path: '/mcp/direct', token })
      const seen = [...text.matchAll(/"name":"memory__(\w+)"/g)].map(([, tool]) => tool).sort()
      assert.deepEqual(seen, expected)
    }
  })
}
