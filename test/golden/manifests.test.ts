/** Manifests and client configs as people write them, and what they mean: parsed, imported, resolved. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type ResolveInput, resolve, type ServerObservation } from '../../core/catalog/resolve.ts'
import { parseManifestText } from '../../core/manifests.ts'
import { importConfig } from '../../local/import/client-config.ts'
import { renderImported } from '../../local/import/render.ts'
import { readEnvFile } from '../../local/imported.ts'

const read = (path: string) => readFileSync(join(import.meta.dirname, path), 'utf8')
const golden = (t: TestContext, value: unknown, path: string) =>
  t.assert.fileSnapshot(`${JSON.stringify(value, null, 2)}\n`, join(import.meta.dirname, path), { serializers: [String] })

for (const name of ['every-source', 'gateway']) {
  test(`manifests/${name}.yaml is parsed with all defaults`, t => {
    golden(t, parseManifestText(read(`manifests/${name}.yaml`), `${name}.yaml`), `manifests/${name}.expected.json`)
  })
}

const environment = { API_BASE_URL: 'https://staging.example.com' }
const lookup = (part: { kind: string; name?: string }) =>
  part.kind === 'env' && part.name === 'API_BASE_URL' ? environment.API_BASE_URL : undefined

for (const name of ['claude-desktop', 'vscode-mcp', 'claude-code.mcp', 'others']) {
  const text = read(`configs/${name}.json`)
  const file = name.startsWith('vscode') ? '/home/ada/project/.vscode/mcp.json' : `/home/ada/${name}.json`

  test(`configs/${name}.json is imported as the gateway runs it`, t => {
    const imported = importConfig(text, { file, home: '/home/ada', lookup, readEnvFile })
    const servers = imported.servers.map(({ manifest: _, ...server }) => server)
    golden(t, { ...imported, servers }, `configs/${name}.expected`)
  })

  test(`configs/${name}.json is written as manifests that can be read back, without a secret in them`, t => {
    const imported = importConfig(text, { file, home: '/home/ada', readEnvFile })
    const yaml = renderImported(imported)
    t.assert.fileSnapshot(yaml, join(import.meta.dirname, `configs/${name}.yaml`), { serializers: [String] })
    const parsed = parseManifestText(yaml, 'imported.yaml')
    assert.deepEqual(parsed.problems, [])
    assert.deepEqual(parsed.manifests.map(({ manifest }) => manifest), imported.servers.map(({ manifest }) => manifest))
    assert.doesNotMatch(yaml, /BSA-0123456789|ghp_0123456789/)
  })
}

const NOW = Date.UTC(2026, 0, 1)
const observed = new Map<string, ServerObservation>([
  ['everything', { state: 'asleep', since: NOW - 1_000 }],
  ['git', { state: 'failed', reason: 'StartTimeout', message: 'no answer within 60 s', since: NOW - 10_000 }],
  ['github', { state: 'failed', reason: 'CrashLooping', message: 'ended with code 1', since: NOW - 60_000 }],
  ['crm', { state: 'authRequired', reason: 'AuthRequired', message: 'wants credentials', since: NOW, inputs: 'v1' }],
])

for (const placement of ['local', 'cluster'] as const) {
  test(`resolve makes a router config of manifests, placement ${placement}`, t => {
    const manifests = [
      ...parseManifestText(read('manifests/every-source.yaml'), '').manifests,
      ...parseManifestText(read('manifests/gateway.yaml'), '').manifests,
    ].map(({ manifest }) => manifest)
    const input: ResolveInput = {
      gateway: manifests.find(manifest => manifest.kind === 'McpGateway' && manifest.metadata.name === 'plain') as ResolveInput['gateway'],
      servers: manifests.filter(manifest => manifest.kind === 'McpServer'),
      observed,
      placement,
      now: NOW,
    }
    golden(t, resolve(input), `resolve/${placement}.expected.json`)
  })
}

test('every manifest of the examples is valid', () => {
  const examples = join(dirname(dirname(import.meta.dirname)), 'examples')
  const files = readdirSync(examples, { recursive: true, encoding: 'utf8' }).filter(path => /\.ya?ml$/.test(path))
  const problems = files.flatMap(path => parseManifestText(readFileSync(join(examples, path), 'utf8'), path).problems)
  assert.deepEqual(problems, [])
})
