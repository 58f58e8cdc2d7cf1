/** Which servers a gateway leaves out because it does not know who calls. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auth } from '../../crds/access.ts'
import { parseManifest } from '../../crds/parse.ts'
import { acceptCallers, type Placement } from './accept.ts'
import { defaultGateway } from './resolve.ts'

const TOKENS = { tokens: { secretName: 'callers' } }
const JWT = { jwt: [{ name: 'own', issuer: 'https://login.example.com', audiences: ['a'] }] }

test('a server at which users log in needs a gateway with an issuer, except on a laptop without auth', () => {
  const { manifest } = parseManifest({
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpServer',
    metadata: { name: 'linear' },
    spec: {
      remote: { url: 'https://mcp.linear.example/mcp' },
      sessions: 'perUser',
      auth: { perUser: { oauth: {} } },
    },
  })
  assert.ok(manifest?.kind === 'McpServer')
  const found = (placement: Placement, given?: object) => {
    const gateway = defaultGateway()
    const spec = { ...gateway.spec, ...(given && { auth: auth.parse(given) }) }
    return acceptCallers(manifest, { ...gateway, spec }, placement).map(({ path, reason }) => [path, reason])
  }
  const unknown = [['spec.auth.perUser.oauth', 'CallersUnknown']]
  assert.deepEqual(
    [found('local'), found('local', TOKENS), found('local', { ...TOKENS, ...JWT })],
    [[], unknown, []],
  )
  assert.deepEqual([found('cluster', TOKENS), found('cluster', { ...TOKENS, ...JWT })], [unknown, []])
  assert.deepEqual(found('cluster'), [['spec.sessions', 'CallersUnknown']])
})
