/** Fields that do nothing on a laptop: `check` and `up` say so, and refuse nothing because of them. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ManifestFiles } from './files.ts'
import { readPaths } from './read.ts'

async function read(t: TestContext, ...manifests: { kind: string; name: string; spec: object }[]) {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const text = manifests
    .map(({ kind, name, spec }) =>
      JSON.stringify({ apiVersion: 'portolan.dev/v1alpha1', kind, metadata: { name }, spec }),
    )
    .join('\n---\n')
  writeFileSync(join(folder, 'all.yaml'), text)
  const files = new ManifestFiles([folder])
  const reading = await readPaths({ files, env: {}, gateway: 'agents', digestKey: Buffer.alloc(32), now: 0 })
  return {
    problems: reading.problems,
    running: reading.servers.map(({ server }) => server.metadata.name),
    notes: reading.notes.map(({ line, path, message, reason }) => `${line} ${path} ${message} ${reason}`),
  }
}

const command = { run: 'true' }
const npm = { package: 'a' }

test('each manifest with fields that have an effect in clusters only gets one note, at the first of them', async t => {
  const { problems, running, notes } = await read(
    t,
    {
      kind: 'McpGateway',
      name: 'agents',
      spec: { from: [{ namespaceSelector: {} }], router: { replicas: 3 } },
    },
    { kind: 'McpServer', name: 'one', spec: { npm, pod: { nodeSelector: { a: 'b' } }, tls: true } },
    { kind: 'McpServer', name: 'two', spec: { command, scaling: { min: 0, max: 3 } } },
  )
  assert.deepEqual(problems, [])
  assert.deepEqual(running.sort(), ['one', 'two'])
  assert.deepEqual(notes, [
    '1 spec.from agents: has no effect on a laptop, only in clusters; the same goes for spec.router ClusterOnly',
    '3 spec.pod one: has no effect on a laptop, only in clusters; the same goes for spec.tls ClusterOnly',
    '5 spec.scaling.max two: has no effect on a laptop, only in clusters ClusterOnly',
  ])
})

test('fields with their defaults, and gateways that are not served, get no note', async t => {
  const { notes } = await read(
    t,
    { kind: 'McpGateway', name: 'agents', spec: { from: [] } },
    { kind: 'McpGateway', name: 'other', spec: { from: [{ namespaceSelector: {} }] } },
    { kind: 'McpServer', name: 'one', spec: { command, tls: false, scaling: { min: 1, max: 1 } } },
  )
  assert.deepEqual(notes, [])
})
