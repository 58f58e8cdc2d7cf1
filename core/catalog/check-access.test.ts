/** Invalid combinations of fields about the callers of a gateway. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mcpGatewaySchema } from '../../crds/gateway.ts'
import { API_VERSION } from '../../crds/object-meta.ts'
import { checkAccess } from './check-access.ts'

const ISSUER = { name: 'own', issuer: 'https://id.example.com', audiences: ['a'] }
const OTHER = { name: 'other', issuer: 'https://other.example.com', audiences: ['a'] }

function problems(spec: object): string[] {
  const manifest = { apiVersion: API_VERSION, kind: 'McpGateway', metadata: { name: 'a' }, spec }
  return checkAccess(mcpGatewaySchema.parse(manifest).spec).map(({ path, message }) => `${path} ${message}`)
}

function subject(given: object, jwt: object[] = [ISSUER]) {
  return problems({
    url: 'https://a.example',
    auth: { jwt },
    access: [{ name: 'r', subjects: [given] }],
  }).join()
}

test('issuers need the URL of the gateway, distinct names, and one source of keys', () => {
  assert.match(problems({ auth: { jwt: [ISSUER] } }).join(), /^spec\.url is required with auth\.jwt/)
  const url = 'https://a.example'
  assert.match(
    problems({ url, auth: { jwt: [ISSUER, ISSUER] } }).join(),
    /jwt\[1\] has the name or the issuer of another/,
  )
  assert.match(
    problems({ url, auth: { jwt: [{ ...ISSUER, keys: {} }] } }).join(),
    /keys must have exactly one/,
  )
  assert.deepEqual(problems({ url, auth: { jwt: [ISSUER, OTHER] } }), [])
})

test('an interval of token reviews below 10 s is refused', () => {
  const reviewed = (review: string) => problems({ auth: { serviceAccounts: { review } } })
  assert.match(reviewed('9s').join(), /^spec\.auth\.serviceAccounts\.review must be 10s or more/)
  assert.deepEqual([reviewed('10s'), reviewed('168h')], [[], []])
})

test('a subject is a kind with a name, or a claim with values, and names its issuer if there are several', () => {
  assert.match(subject({}), /exactly one of kind and claim/)
  assert.match(subject({ kind: 'Group' }), /needs a name/)
  assert.match(subject({ claim: 'department' }), /needs values/)
  assert.match(subject({ kind: 'Group', name: 'system:masters' }), /reserves/)
  assert.match(subject({ kind: 'Group', name: 'dev' }, [ISSUER, OTHER]), /needs an issuer: one of own, other/)
  assert.match(subject({ kind: 'User', name: 'ada', issuer: 'evil' }), /not in spec\.auth\.jwt/)
  assert.equal(subject({ kind: 'Group', name: 'dev' }), '')
  assert.equal(subject({ kind: 'Token', name: 'ci' }, [ISSUER, OTHER]), '')
})

test('a rule with challenge needs scopes, and a gateway with an issuer', () => {
  const gateway = { url: 'https://a.example', auth: { jwt: [ISSUER] } }
  const challenging = { name: 'r', challenge: true }
  assert.match(problems({ ...gateway, access: [challenging] }).join(), /challenge asks for nothing/)
  const asking = { ...challenging, scopes: ['write'] }
  assert.match(problems({ access: [asking] }).join(), /challenge needs spec\.auth\.jwt/)
  assert.deepEqual(problems({ ...gateway, access: [asking] }), [])
})

test('a limit counts requests or calls, and per caller only where callers are known', () => {
  const limit = { per: 'Gateway', calls: 1, every: '1m' }
  assert.deepEqual(problems({ rateLimits: [limit] }), [])
  assert.match(
    problems({ rateLimits: [{ ...limit, requests: 1 }] }).join(),
    /exactly one of requests and calls/,
  )
  assert.match(problems({ rateLimits: [{ ...limit, per: 'Caller' }] }).join(), /all callers are one/)
  assert.match(
    problems({ rateLimits: [{ per: 'Gateway', requests: 1, every: '1m', tools: ['*'] }] }).join(),
    /give calls/,
  )
})
