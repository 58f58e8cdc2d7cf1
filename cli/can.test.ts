/** Whether a caller may use something, as the manifests say. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createColors } from 'picocolors'
import { resolve } from '../core/catalog/resolve.ts'
import type { McpGateway } from '../crds/gateway.ts'
import { parseManifest } from '../crds/parse.ts'
import type { McpServer } from '../crds/server.ts'
import { notAdmitted } from '../router/access/admits.ts'
import { viewOf } from '../router/access/view.ts'
import { createWorkspace } from '../test/support/manifests.ts'
import { canCommand, decide } from './can.ts'
import { identityOf } from './identity.ts'
import type { Terminal } from './output.ts'

function manifest<Kind>(kind: string, name: string, spec: object, labels = {}): Kind {
  const value = { apiVersion: 'portolan.dev/v1alpha1', kind, metadata: { name, labels }, spec }
  const { manifest, problems } = parseManifest(value)
  assert.ok(manifest, JSON.stringify(problems))
  return manifest as Kind
}

const jwt = [{ name: 'own', issuer: 'https://id.example.com', audiences: ['a'] }]
const gateway = manifest<McpGateway>('McpGateway', 'tools', {
  url: 'https://mcp.example.com',
  auth: { jwt, serviceAccounts: {} },
  access: [
    { name: 'dev', subjects: [{ kind: 'Group', name: 'dev' }], servers: { matchLabels: { team: 'a' } } },
    {
      name: 'ci',
      subjects: [{ kind: 'Token', name: 'ci' }],
      tools: { allow: ['get_*'], deny: ['get_secret'] },
    },
    {
      name: 'triage',
      subjects: [{ kind: 'ServiceAccount', namespace: 'agents', name: 'triage' }],
      scopes: [],
    },
    { name: 'writers', subjects: [{ claim: 'role', values: ['editor'] }], scopes: ['write'] },
  ],
})
const servers = ['a', 'b'].map(team =>
  manifest<McpServer>('McpServer', team, { npm: { package: team, version: '1.0.0' } }, { team }),
)
const { config } = resolve({ gateway, servers, observed: new Map(), placement: 'cluster', now: 0 })

function answer(target: string, as: string[], more: object = {}): string {
  const { yes, why } = decide(config, viewOf(config.access, identityOf({ as, ...more })), 'call', target)
  return yes ? why : 'no'
}

function recording(): { terminal: Terminal; lines: string[] } {
  const lines: string[] = []
  const colors = createColors(false)
  const write = (text: string) => lines.push(text)
  const outputs = { out: write, outRaw: write, err: write, errRaw: write, colors, errColors: colors }
  return { terminal: { ...outputs, interactive: false, columns: () => 80, env: {} }, lines }
}

test('a caller may do what a rule grants whose subjects include the caller', () => {
  assert.equal(answer('a:get_x', ['group:own/dev']), 'granted by dev')
  assert.equal(answer('b:get_x', ['group:own/dev']), 'no')
  assert.equal(answer('a:get_x', ['user:ada', 'group:dev']), 'granted by dev')
  assert.equal(answer('b:get_x', ['token:ci']), 'granted by ci')
  assert.equal(answer('b:get_secret', ['token:ci']), 'no')
  assert.equal(answer('b:any', ['serviceaccount:agents/triage']), 'granted by triage')
  assert.equal(answer('b:any', ['serviceaccount:other/triage']), 'no')
  assert.equal(answer('a:any', ['user:own/ada'], { claim: ['role=editor'] }), 'no')
  assert.equal(
    answer('a:any', ['user:own/ada'], { claim: ['role=editor'], scopes: 'write' }),
    'granted by writers',
  )
  assert.equal(answer('a:any', ['anonymous']), 'no')
  assert.equal(answer('c:any', ['token:ci']), 'no')
})

test('invalid values of --as are refused', () => {
  for (const as of [
    ['ada'],
    ['serviceaccount:triage'],
    ['user:a/ada', 'group:b/dev'],
    ['user:ada', 'token:ci'],
    ['user:ada', 'user:bob'],
    ['user:ada', 'group:dev', 'user:bob'],
    ['token:ci', 'token:nightly'],
    ['sa:agents/triage', 'sa:agents/other'],
    ['robot:ada'],
  ])
    assert.throws(() => identityOf({ as }), /--as/)
  assert.throws(() => identityOf({ as: ['user:ada'], claim: ['role'] }), /NAME=VALUE/)
})

test('a caller that is not admitted may do nothing, even if rules grant something to everyone', () => {
  const { access } = config
  const why = (as: string[]) => notAdmitted(access, identityOf({ as }))
  assert.match(why(['anonymous']) ?? '', /without a credential/)
  assert.match(why(['token:ci']) ?? '', /no tokens/)
  assert.match(why(['sa:elsewhere/triage']) ?? '', /namespace/)
  assert.match(why(['user:other/ada']) ?? '', /no such issuer/)
  for (const as of ['sa:default/triage', 'user:own/ada', 'group:dev']) assert.equal(why([as]), undefined, as)
  assert.equal(notAdmitted({}, identityOf({ as: ['anonymous'] })), undefined)
})

test('broken manifests and missing paths are reported, and there is no answer', async t => {
  const space = createWorkspace()
  t.after(space.remove)
  const file = join(space.folder, 'gateway.yaml')
  const head = 'apiVersion: portolan.dev/v1alpha1\nkind: McpGateway\nmetadata: { name: tools }\n'
  writeFileSync(file, `${head}spec: {}\n`)
  writeFileSync(
    join(space.folder, 'bad.yaml'),
    'apiVersion: portolan.dev/v1alpha1\nkind: McpServer\nmetadata: { name: bad }\nspec:\n  tittle: x\n',
  )
  for (const [paths, expected] of [
    [[space.folder], /bad\.yaml.*tittle/],
    [[file, join(space.folder, 'none.yaml')], /none\.yaml.*no such file/],
  ] as const) {
    const { terminal, lines } = recording()
    const args = ['call', 'bad:any', ...paths, '--as', 'anonymous']
    await assert.rejects(canCommand(terminal).parseAsync(args, { from: 'user' }), { exitCode: 2 })
    assert.match(lines.join('\n'), expected)
  }
})

test('a target without a server is a usage error', async () => {
  for (const [verb, target] of [
    ['call', 'foo'],
    ['call', ':foo'],
    ['get', 'foo'],
    ['read', 'files:foo'],
    ['read', '|file:///foo'],
  ] as const) {
    const { terminal, lines } = recording()
    const args = [verb, target, '.', '--as', 'anonymous']
    await assert.rejects(canCommand(terminal).parseAsync(args, { from: 'user' }), {
      exitCode: 2,
      message: 'the target must be server:tool, server:prompt, or "server|uri"',
    })
    assert.deepEqual(lines, [])
  }
})
