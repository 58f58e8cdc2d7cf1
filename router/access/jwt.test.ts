/** Which key of an issuer verifies a token that names none. */
import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { test } from 'node:test'
import { type CryptoKey, createLocalJWKSet, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { createJwtVerifier } from './jwt.ts'

const NOW = Date.UTC(2026, 0, 1)
const ISSUER = {
  name: 'own',
  issuer: 'https://id.example.com',
  audiences: ['a'],
  usernameClaim: 'sub',
  groupsClaim: 'groups',
  requiredScopes: [],
  clockSkewMs: 0,
  maxLifetimeMs: 3_600_000,
}

type Pair = { publicKey: CryptoKey | KeyObject; privateKey: CryptoKey | KeyObject }

const pairsOf = (count: number): Promise<Pair[]> =>
  Promise.all(Array.from({ length: count }, () => generateKeyPair('ES256')))

/** An issuer with these keys of one algorithm. */
async function begin(pairs: readonly Pair[], alg = 'ES256') {
  const published = await Promise.all(pairs.map(({ publicKey }) => exportJWK(publicKey)))
  const find = createLocalJWKSet({ keys: published.map((key, at) => ({ ...key, kid: `${at}` })) })
  const keys = { find, state: () => assert.fail(), ageMs: () => undefined, close: async () => {} }
  const metrics = { keysFetched() {} }
  const verifier = createJwtVerifier([[ISSUER, keys]], [], { clock: createManualClock(NOW), metrics })
  /** Verifies a token that is signed with one of the keys, or with another one. Returns the subject, or why it is refused. */
  return async (at: number, claims: { aud?: string } = {}, header: { typ?: unknown } = {}) => {
    const { privateKey } = pairs[at] ?? (await generateKeyPair(alg))
    const times = { iat: NOW / 1_000, exp: NOW / 1_000 + 60 }
    const token = await new SignJWT({ iss: ISSUER.issuer, aud: 'a', sub: 'ada', ...times, ...claims })
      .setProtectedHeader({ alg, ...(header as { typ?: string }) })
      .sign(privateKey)
    const found = await verifier.verify(token)
    return found && ('status' in found ? found.reason : found.subject)
  }
}

test('a token without a key id is admitted with any key of its algorithm', async () => {
  const verify = await begin(await pairsOf(3))
  assert.deepEqual([await verify(0), await verify(1), await verify(2)], ['ada', 'ada', 'ada'])
  assert.equal(await verify(3), 'Unverifiable')
  assert.equal(await verify(2, { aud: 'b' }), 'OtherAudience')
})

test('a type of the token that is not a string is refused', async () => {
  const verify = await begin(await pairsOf(1))
  for (const typ of [1, true, null, ['JWT'], {}]) assert.equal(await verify(0, {}, { typ }), 'Unverifiable')
  assert.equal(await verify(0, {}, { typ: 'at+jwt' }), 'ada')
})

test('of many keys eight are tried', async () => {
  const verify = await begin(await pairsOf(9))
  assert.deepEqual([await verify(7), await verify(8)], ['ada', 'Unverifiable'])
})

test('a key that is too short to be used is skipped', async () => {
  const [short, long] = [1_024, 2_048].map(modulusLength => generateKeyPairSync('rsa', { modulusLength }))
  assert.ok(short && long)
  const verify = await begin([short, long], 'RS256')
  assert.equal(await verify(1), 'ada')
})
