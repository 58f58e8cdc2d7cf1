/** Thousands of hostile headers and tokens: none lets anybody in, and none is answered 500. Over HTTP, against a running router. */
import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { Agent } from 'undici'
import type { AuthConfig } from '../../core/catalog/access-config.ts'
import { initialize, NOW, rule, send, start } from './access-router.ts'
import { createRandom, type Random } from './random.ts'

const COUNT = 10_000
const SEED = 20_261_123
const AT_A_TIME = 32
const AUDIENCE = 'https://mcp.example.com/mcp'
const ISSUERS = ['https://one.example.com', 'https://two.example.com'] as const
const REFUSED = new Set([400, 401, 403, 429, 431])

type Keys = ReturnType<typeof createKeys>

/** Keys of two issuers, with the same key id. */
function createKeys() {
  const pairs = ISSUERS.map(() => generateKeyPairSync('ec', { namedCurve: 'P-256' }))
  const sets = pairs.map(({ publicKey }) => ({
    ...publicKey.export({ format: 'jwk' }),
    kid: 'one',
    alg: 'ES256',
  }))
  return { privateKeys: pairs.map(({ privateKey }) => privateKey), sets }
}

async function startWithIssuers(t: TestContext) {
  const keys = createKeys()
  const auth: AuthConfig = {
    anonymous: false,
    jwt: ISSUERS.map((issuer, at) => ({
      name: `issuer-${at}`,
      issuer,
      audiences: [AUDIENCE],
      jwks: { keys: [keys.sets[at]] } as never,
      usernameClaim: 'sub',
      groupsClaim: 'groups',
      requiredScopes: ['mcp'],
      clockSkewMs: 30_000,
      maxLifetimeMs: 24 * 60 * 60_000,
    })),
    tokens: { secretName: 'callers' },
    revoked: [{ subject: 'gone' }, { jti: 'lost' }],
  }
  const rules = [rule('all', 'vermilion', { subjects: [] })]
  return { ...(await start(t, { url: 'https://mcp.example.com', auth, rules })), keys }
}

/** The claims of a good token, of which tests spoil some. */
function goodClaims(at: number) {
  const seconds = NOW / 1_000
  return {
    iss: ISSUERS[at % 2] as string,
    aud: AUDIENCE,
    sub: 'ada',
    iat: seconds,
    exp: seconds + 600,
    scope: 'mcp',
  }
}

/** Each makes a good token bad. */
const SPOILED_CLAIMS: ((random: Random) => Record<string, unknown>)[] = [
  random => ({ aud: `${AUDIENCE}${random.pick(['/', '#', '?', ' ', '\0', '/../mcp', 'x'])}` }),
  random => ({
    aud: random.pick<unknown>([null, 7, {}, [], [null], '', AUDIENCE.toUpperCase(), [[AUDIENCE]]]),
  }),
  random => ({ iss: `${ISSUERS[0]}${random.pick(['/', '.', '%2f', ':443', '\n', ' '])}` }),
  random => ({ iss: random.pick<unknown>([null, 7, {}, [ISSUERS[0]], '', '__proto__', 'constructor']) }),
  random => ({
    exp: random.pick<unknown>([0, -1, 'never', null, 1e308, NOW / 1_000 - 31, '9999999999', {}]),
  }),
  random => ({ iat: random.pick<unknown>([0, 'now', null, {}, NOW / 1_000 + 120]) }),
  random => ({ nbf: random.pick<unknown>([NOW / 1_000 + 120, 'x', {}]) }),
  random => ({ sub: random.pick<unknown>([null, '', 7, {}, [], 'gone', 's'.repeat(513)]) }),
  random => ({ scope: random.pick<unknown>([null, '', 'mc', 'MCP', 'mcp2', 7, { mcp: true }, 'm cp']) }),
  random => ({ groups: Array.from({ length: 1_001 + random.below(500) }, () => 'g') }),
  () => ({ jti: 'lost' }),
  () => ({ nonce: 'n', scope: undefined, scp: undefined }),
  () => ({ at_hash: 'h' }),
]

const SPOILED_HEADERS: ((random: Random) => Record<string, unknown>)[] = [
  random => ({ jku: `https://${random.text(8)}.example/keys` }),
  () => ({ x5u: 'https://evil.example/cert' }),
  () => ({ jwk: { kty: 'oct', k: 'AAAA' } }),
  () => ({ x5c: ['AAAA'] }),
  () => ({ crit: ['exp'], exp: 1 }),
  random => ({
    kid: random.pick([
      '../../etc/passwd',
      "' OR 1=1 --",
      'http://x',
      '__proto__',
      '',
      '\0',
      'k'.repeat(9_000),
    ]),
  }),
  random => ({
    typ: random.pick<unknown>([
      'oauth-id-jag+jwt',
      'application/oauth-id-jag+jwt',
      'logout+jwt',
      'dpop+jwt',
      'SECEVENT+JWT',
      7,
      null,
      {},
    ]),
  }),
  random => ({
    alg: random.pick<unknown>(['none', 'NONE', 'HS256', 'HS512', 'RS256', 'ES512', '', null, 7, {}]),
  }),
]

function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

const GOOD_HEADER = { alg: 'ES256', kid: 'one' }

type Hostile = { authorization: string; more?: Record<string, string> }

/** Signs any claims and header with the key of an issuer. */
function signed({ privateKeys }: Keys, at: number, claims: object = {}, header: object = {}): string {
  const text = `${encoded({ ...GOOD_HEADER, ...header })}.${encoded({ ...goodClaims(at), ...claims })}`
  const key = { key: privateKeys[at] ?? assert.fail(), dsaEncoding: 'ieee-p1363' } as const
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`
}

/** A random credential that must not be accepted. */
function hostile(random: Random, keys: Keys): Hostile {
  const at = random.below(2)
  const good = signed(keys, at)
  const bearer = (token: string): Hostile => ({ authorization: `Bearer ${token}` })
  switch (random.below(12)) {
    case 0:
      return bearer(signed(keys, at, random.pick(SPOILED_CLAIMS)(random)))
    case 1:
      return bearer(signed(keys, at, {}, random.pick(SPOILED_HEADERS)(random)))
    case 2:
      return bearer(signed(keys, at, { iss: ISSUERS[1 - at] }))
    case 3: {
      const text = `${encoded({ ...GOOD_HEADER, alg: 'HS256' })}.${encoded(goodClaims(at))}`
      const key = random.pick([JSON.stringify(keys.sets[at]), keys.sets[at]?.x ?? '', '', 'secret'])
      return bearer(`${text}.${createHmac('sha256', key).update(text).digest('base64url')}`)
    }
    case 4:
      return bearer(`${encoded({ alg: 'none' })}.${encoded(goodClaims(at))}.${random.pick(['', 'AAAA'])}`)
    case 5:
      return bearer(changed(good, random))
    case 6:
      return { authorization: random.text(1 + random.below(200)) }
    case 7:
      return { authorization: `${random.pick(SCHEMES)} ${good}` }
    case 8:
      return bearer(random.pick(['x', '.', '..', '...', 'a.b.c', '=', 'e30.e30.e30', 'x'.repeat(16_000)]))
    case 9:
      return bearer(`${good}${random.pick([' ', ', ', '\t', ';'])}Bearer ${random.text(20)}`)
    case 10:
      return bearer(`${encoded(deep(random))}.${encoded(deep(random))}.AAAA`)
    default:
      return { authorization: 'Bearer none', more: { [random.pick(OTHER_HEADERS)]: `Bearer ${good}` } }
  }
}

const SCHEMES = ['Basic', 'Digest', 'bearer:', 'Bearer,', 'Portolan-Replica', 'Token', 'DPoP', '']
const OTHER_HEADERS = [
  'x-authorization',
  'cookie',
  'proxy-authorization',
  'portolan-forwarded',
  'x-forwarded-user',
]

/** A token with one character changed, left out or added. */
function changed(token: string, random: Random): string {
  // The last character of a signature has bits that mean nothing.
  const at = random.below(token.length - 2)
  const other = random.pick([...'AZaz09-_.'].filter(letter => letter !== token[at]))
  return token.slice(0, at) + random.pick([other, '', `${token[at]}${other}`]) + token.slice(at + 1)
}

function deep(random: Random): unknown {
  let value: unknown = random.pick<unknown>([null, 7, '', [], { iss: ISSUERS[0] }])
  for (let depth = random.below(200); depth > 0; depth--) value = random.below(2) ? [value] : { iss: value }
  return value
}

test('10,000 hostile credentials are refused, and a good one is still admitted', async t => {
  const { origin, keys, clock } = await startWithIssuers(t)
  const good = signed(keys, 0)
  assert.equal((await send(origin, initialize, { token: good })).status, 200)
  const random = createRandom(SEED)
  const agent = new Agent({ connections: AT_A_TIME })
  t.after(() => agent.close())
  const counts = new Map<number, number>()
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...initialize })
  const attack = async ({ authorization, more }: Hostile) => {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...more,
    }
    const sent = {
      origin,
      path: '/mcp',
      method: 'POST',
      body,
      headers: { ...headers, authorization },
    } as const
    const { statusCode, body: answer } = await agent.request(sent)
    const text = await answer.text()
    assert.ok(REFUSED.has(statusCode), `${statusCode} ${text} for ${JSON.stringify({ authorization, more })}`)
    counts.set(statusCode, (counts.get(statusCode) ?? 0) + 1)
  }
  for (let sent = 0; sent < COUNT; sent += AT_A_TIME) {
    await Promise.all(Array.from({ length: AT_A_TIME }, () => attack(hostile(random, keys))))
    // Failed logins are limited: with time, some get the answer of their own failure instead of 429.
    clock.advance(10)
  }
  const failed = (counts.get(400) ?? 0) + (counts.get(401) ?? 0)
  assert.ok(failed >= 20 && failed < 30, JSON.stringify([...counts]))
  assert.equal((await send(origin, initialize, { token: good })).status, 200)
})
