/** Tokens are verified with the issuer's keys, which may change or be unavailable; verified tokens are remembered until they expire. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { createLog } from '../../core/log.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { createServiceAccounts } from '../access/service-accounts.ts'
import { createTokenReviews } from '../access/token-reviews.ts'
import { createAuthenticator } from './service-account.ts'

const ISSUER = 'https://kubernetes.default.svc'
const NOW = 1_800_000_000_000

const CLAIMS: JWTPayload = { iss: ISSUER, aud: ['portolan'], sub: 'system:serviceaccount:team:agent' }

test('a token of the namespace is admitted; others are refused with the reason', async () => {
  const { sign, ask } = await begin()
  assert.equal(await ask(await sign()), undefined)
  assert.equal((await ask(undefined))?.status, 401)
  const refusals: [JWTPayload, number, RegExp][] = [
    [{ ...CLAIMS, aud: ['other'] }, 401, /another audience: project one for audience portolan/],
    [{ ...CLAIMS, iss: 'https://evil.example' }, 401, /not issued by this cluster/],
    [{ ...CLAIMS, sub: 'system:serviceaccount:other:agent' }, 403, /only pods of the namespace team/],
    [{ ...CLAIMS, sub: 'system:node:one' }, 401, /not of a ServiceAccount/],
  ]
  for (const [claims, status, message] of refusals) {
    const refusal = await ask(await sign(claims))
    assert.equal(refusal?.status, status)
    assert.match(refusal.message, message)
  }
  const forged = `${(await sign()).slice(0, -8)}AAAAAAAA`
  assert.match((await ask(forged))?.message ?? '', /not issued by this cluster/)
  const { sign: foreign } = await begin()
  assert.equal((await ask(await foreign()))?.status, 401)
})

test('an admitted token is admitted until it expires, and then refused with that reason', async () => {
  const { sign, ask, clock, reads } = await begin()
  const token = await sign()
  for (let times = 0; times < 3; times++) assert.equal(await ask(token), undefined)
  assert.equal(reads(), 2)
  clock.advance(3_600_000)
  assert.match((await ask(token))?.message ?? '', /has expired/)
})

test('a token keeps its identity when it is verified again, and is verified once for all who send it at a time', async () => {
  const { sign, authenticate, clock, reviews } = await begin()
  const authorization = `Bearer ${await sign()}`
  const [first, second] = await Promise.all([1, 2].map(() => authenticate(authorization, 60_000)))
  assert.ok(first && 'id' in first)
  assert.equal(second, first)
  assert.equal(reviews(), 1)
  clock.advance(6 * 60_000)
  assert.equal(await authenticate(authorization, 60_000), first)
  assert.equal(reviews(), 2)
})

test('a token with an unknown key id makes the router read the keys again, at most every 5 s', async () => {
  const { sign, ask, clock, replaceKeys, reads } = await begin()
  await ask(await sign())
  await replaceKeys()
  assert.equal((await ask(await sign()))?.status, 401)
  assert.equal(reads(), 2)
  clock.advance(5_001)
  assert.equal(await ask(await sign()), undefined)
  assert.equal(reads(), 4)
})

test('while the API server is unavailable, known keys stay in use; without any the answer is 503', async () => {
  const { sign, ask, clock, setUnavailable } = await begin()
  setUnavailable(true)
  assert.deepEqual((await ask(await sign()))?.status, 503)
  setUnavailable(false)
  clock.advance(5_001)
  assert.equal(await ask(await sign()), undefined)
  setUnavailable(true)
  clock.advance(20 * 60_000)
  assert.equal(await ask(await sign()), undefined)
})

test('a withdrawn key is trusted for ten minutes at most, also for tokens that were already admitted', async () => {
  const { sign, ask, clock, replaceKeys } = await begin()
  const token = await sign()
  assert.equal(await ask(token), undefined)
  await replaceKeys()
  clock.advance(11 * 60_000)
  assert.equal((await ask(token))?.status, 401)
})

test('after the clock is set back, tokens of a withdrawn key are refused as soon as without that', async () => {
  const { sign, ask, clock, replaceKeys } = await begin()
  const token = await sign()
  assert.equal(await ask(token), undefined)
  await replaceKeys()
  clock.setBack(60 * 60_000)
  clock.advance(11 * 60_000)
  assert.equal((await ask(token))?.status, 401)
})

test('with reviews, a token that was admitted without one is reviewed, and refused once a review denies it', async () => {
  const { sign, ask, clock, reviews, deny } = await begin()
  const token = await sign()
  assert.equal(await ask(token), undefined)
  assert.equal(reviews(), 0)
  for (let times = 0; times < 3; times++) assert.equal(await ask(token, 60_000), undefined)
  assert.equal(reviews(), 1)
  deny()
  clock.advance(59_999)
  assert.equal(await ask(token, 60_000), undefined)
  clock.advance(1)
  assert.equal((await ask(token, 60_000))?.reason, 'ReviewDenied')
  assert.equal(reviews(), 2)
})

/** An issuer whose keys can be replaced, and that can be unavailable. */
async function begin() {
  const clock = createManualClock(NOW)
  let number = 0
  let unavailable = false
  let reads = 0
  let reviews = 0
  const makeKey = async () => {
    const kid = `key-${++number}`
    const { publicKey, privateKey } = await generateKeyPair('RS256')
    return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'RS256' } }
  }
  let key = await makeKey()
  const read = async (path: string) => {
    if (unavailable) throw new Error('unavailable')
    reads++
    return path.startsWith('/.well-known') ? { issuer: ISSUER } : { keys: [key.jwk] }
  }
  const log = createLog({ level: 'silent' })
  const accepted = { authenticated: true, audiences: ['portolan'], username: CLAIMS.sub ?? '' }
  let verdict = accepted
  const ask = async () => {
    reviews++
    return verdict
  }
  const accounts = createServiceAccounts({ read, reviews: createTokenReviews({ ask, clock, log }), clock })
  const authenticate = createAuthenticator({ accounts, audience: 'portolan', namespace: 'team', log, clock })
  return {
    clock,
    authenticate,
    reads: () => reads,
    reviews: () => reviews,
    /** The pod of the token is deleted. */
    deny: () => {
      verdict = { ...accepted, authenticated: false }
    },
    setUnavailable: (value: boolean) => {
      unavailable = value
    },
    replaceKeys: async () => {
      key = await makeKey()
    },
    sign: (claims = CLAIMS) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'RS256', kid: key.kid })
        .setExpirationTime(new Date(clock.now() + 3_000_000))
        .sign(key.privateKey),
    /** Why a token is refused; undefined if it is admitted. */
    ask: async (token: string | undefined, reviewMs?: number) => {
      const found = await authenticate(token === undefined ? undefined : `Bearer ${token}`, reviewMs)
      return 'id' in found ? undefined : found
    },
  }
}
