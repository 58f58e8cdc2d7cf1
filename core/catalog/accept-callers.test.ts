/** Which servers a gateway leaves out because it does not know who calls. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auth } from '../../crds/access.ts'
import { parseManifest } from '../../crds/parse.ts'
import { acceptCallers, type Placement } from './accept.ts'
import { defaultGateway } from './resolve.ts'

const TOKENS = { tokens: { secretName: 'callers' } }
const JWT = { jwt: [{ name: 'own', issuer: 'https://login.example.com', audiences: ['a'] }] }

/** What a gateway with this `auth` objects to in a server with this field `auth.perUser`. */
function foundIn(perUser: object, placement: Placement, given?: object) {
  const { manifest } = parseManifest({
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpServer',
    metadata: { name: 'linear' },
    spec: {
      remote: { url: 'https://mcp.linear.example/mcp' },
      sessions: 'perUser',
      auth: { perUser },
    },
  })
  assert.ok(manifest?.kind === 'McpServer')
  const gateway = defaultGateway()
  const spec = { ...gateway.spec, ...(given && { auth: auth.parse(given) }) }
  return acceptCallers(manifest, { ...gateway, spec }, placement)
}

test('a server at which users log in needs a gateway with an issuer, except on a laptop without auth', () => {
  const found = (placement: Placement, given?: object) =>
    foundIn({ oauth: {} }, placement, given).map(({ path, reason }) => [path, reason])
  const unknown = [['spec.auth.perUser.oauth', 'CallersUnknown']]
  assert.deepEqual(
    [found('local'), found('local', TOKENS), found('local', { ...TOKENS, ...JWT })],
    [[], unknown, []],
  )
  assert.deepEqual([found('cluster', TOKENS), found('cluster', { ...TOKENS, ...JWT })], [unknown, []])
  assert.deepEqual(found('cluster'), [['spec.sessions', 'CallersUnknown']])
})

test("a server gets callers' tokens exchanged only at an issuer of the gateway, or where the gateway allows it", () => {
  const tokenExchange = { clientId: 'a', clientSecretRef: { name: 's', key: 'k' } }
  const refusals = (tokenUrl: string, placement: Placement, given: object = {}) =>
    foundIn({ tokenExchange: { ...tokenExchange, tokenUrl } }, placement, { ...JWT, ...given })
  for (const placement of ['local', 'cluster'] as const) {
    assert.deepEqual(refusals('https://LOGIN.example.com:443/oauth2/token', placement), [])
    for (const tokenUrl of [
      'https://login.example.com.evil.example/token',
      'https://login.example.com@evil.example/token',
      'https://login.example.com:8443/token',
      'http://login.example.com/token',
      'https://[/token',
    ]) {
      const [refusal] = refusals(tokenUrl, placement)
      assert.equal(refusal?.path, 'spec.auth.perUser.tokenExchange.tokenUrl', tokenUrl)
      assert.deepEqual([refusal.reason, refusal.refuses], ['ExchangeNotAllowed', true])
    }
    const other = 'https://sts.example.com/token'
    const [{ message } = { message: '' }] = refusals(other, placement)
    assert.match(message, /https:\/\/sts\.example\.com .*spec\.auth\.tokenExchangeOrigins/)
    assert.deepEqual(refusals(other, placement, { tokenExchangeOrigins: ['https://sts.example.com'] }), [])
  }
  const origins = (...tokenExchangeOrigins: string[]) => auth.safeParse({ tokenExchangeOrigins }).success
  assert.ok(origins('https://sts.example.com', 'http://127.0.0.1:8080', 'http://sts.identity.svc:80'))
  for (const wrong of ['https://a.example/token', 'http://a.example', 'https://a@b.example', 'https://*'])
    assert.ok(!origins(wrong), wrong)
})
