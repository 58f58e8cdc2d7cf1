/** Whether a caller may use something, as the manifests say. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolve } from '../core/catalog/resolve.ts'
import type { McpGateway } from '../crds/gateway.ts'
import { parseManifest } from '../crds/parse.ts'
import type { McpServer } from '../crds/server.ts'
import { notAdmitted } from '../router/access/admits.ts'
import { viewOf } from '../router/access/view.ts'
import { decide } from './can.ts'
import { identityOf } from './identity.ts'

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
