/** Two issuers with users and groups of the same names: over HTTP, against a running router. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import type { AccessSubject, AuthConfig } from '../../core/catalog/access-config.ts'
import { initialize, NOW, rule, send, start } from './access-router.ts'

const AUDIENCE = 'https://mcp.example.com/mcp'
const NAMES = ['one', 'two'] as const
const LIST = { method: 'tools/list', params: {} }
const PING = { method: 'ping' }

/** Both issuers use the same key id, and the subject ada and the group dev exist at both. */
async function twoIssuers(t: TestContext) {
  const pairs = [await generateKeyPair('ES256'), await generateKeyPair('ES256')] as const
  const jwt = await Promise.all(
    ([0, 1] as const).map(async at => ({
      name: NAMES[at],
      issuer: `https://${NAMES[at]}.example.com`,
      audiences: [AUDIENCE],
      jwks: {
        keys: [{ ...(await exportJWK(pairs[at].publicKey)), kid: 'same', alg: 'ES256' }],
      } as never,
      usernameClaim: 'sub',
      groupsClaim: 'groups',
      requiredScopes: [],
      clockSkewMs: 30_000,
      maxLifetimeMs: 24 * 60 * 60_000,
    })),
  )
  const auth: AuthConfig = { anonymous: false, jwt, revoked: [{ subject: 'eve', issuer: 'one' }] }
  const of = (subject: AccessSubject, server: string) =>
    rule(`${subject.kind} ${server}`, server, { subjects: [subject] })
  const rules = [
    of({ kind: 'Group', name: 'dev', issuer: 'one' }, 'vermilion'),
    of({ kind: 'User', name: 'ada', issuer: 'two' }, 'cobalt'),
    of({ kind: 'Claim', claim: 'team', values: ['red'], issuer: 'one' }, 'vermilion'),
    of({ kind: 'Group', name: '*', issuer: 'two', client: 'editor' }, 'vermilion'),
  ]
  const rateLimits = [
    { per: 'Caller', counts: 'requests', limit: 20, everyMs: 3_600_000, burst: 20 } as const,
  ]
  const started = await start(t, { url: 'https://mcp.example.com', auth, rules, rateLimits })
  const sign = (at: 0 | 1, claims: JWTPayload = {}) =>
    new SignJWT({
      iss: jwt[at]?.issuer,
      aud: AUDIENCE,
      sub: 'ada',
      groups: ['dev'],
      iat: NOW / 1_000,
      exp: NOW / 1_000 + 3_600,
      ...claims,
    })
      .setProtectedHeader({ alg: 'ES256', kid: 'same' })
      .sign(pairs[at].privateKey)
  const listed = async (token: string) => {
    const { status, text } = await send(started.origin, LIST, { path: '/mcp/direct', token })
    return `${status} ${['vermilion', 'cobalt'].filter(server => text.includes(`${server}_get`)).join()}`
  }
  return { ...started, jwt, sign, listed }
}

test('the same subject, group and claim of another issuer grant nothing', async t => {
  const { sign, listed } = await twoIssuers(t)
  assert.equal(await listed(await sign(0)), '200 vermilion')
  assert.equal(await listed(await sign(1)), '200 cobalt')
  assert.equal(await listed(await sign(1, { sub: 'bob' })), '200 ')
  assert.equal(await listed(await sign(0, { groups: [], team: 'red' })), '200 vermilion')
  assert.equal(await listed(await sign(1, { sub: 'bob', team: 'red' })), '200 ')
  assert.equal(await listed(await sign(0, { groups: [], azp: 'editor' })), '200 ')
})

test('a token that one issuer signs in the name of the other is refused', async t => {
  const { sign, listed, jwt } = await twoIssuers(t)
  assert.equal(await listed(await sign(0, { iss: jwt[1]?.issuer })), '401 ')
  assert.equal(await listed(await sign(1, { iss: jwt[0]?.issuer })), '401 ')
  for (const iss of [[jwt[0]?.issuer, jwt[1]?.issuer], `${jwt[0]?.issuer},${jwt[1]?.issuer}`])
    assert.equal(await listed(await sign(1, { iss: iss as string })), '401 ')
  assert.equal(await listed(await sign(0, { sub: 'eve' })), '401 ')
  assert.equal(await listed(await sign(1, { sub: 'eve' })), '200 ')
})

test('subjects of the same name at two issuers share neither sessions nor rate limits', async t => {
  const { sign, origin } = await twoIssuers(t)
  const [one, two] = [await sign(0), await sign(1)]
  const begun = await send(origin, initialize, { token: one })
  const headers = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
  assert.equal((await send(origin, PING, { token: two, headers })).status, 404)
  assert.equal((await send(origin, PING, { token: one, headers })).status, 200)
  let refused = 0
  while (refused !== 429) refused = (await send(origin, PING, { token: one })).status
  assert.equal((await send(origin, PING, { token: two })).status, 200)
})
