/** The state of the API server's keys for a gateway that admits ServiceAccounts, as its condition and metrics show it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { Registry } from 'prom-client'
import type { AccessConfig } from '../../core/catalog/access-config.ts'
import { OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import { authVerdict } from '../../core/catalog/access-verdicts.ts'
import { createLog } from '../../core/log.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { createAccessMetrics } from '../access-metrics.ts'
import { createAuthentication } from './authentication.ts'
import { createServiceAccounts } from './service-accounts.ts'
import { createTokenReviews } from './token-reviews.ts'

const NOW = Date.UTC(2026, 0, 1)
const MINUTES = 60_000
const HOURS = 60 * MINUTES

async function begin() {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }] }
  let isUnavailable = false
  let reads = 0
  let isSilent = false
  const read = async (path: string) => {
    reads++
    if (isSilent) await new Promise(() => {})
    if (isUnavailable) throw new Error('the API server answered 403')
    return path.startsWith('/openid') ? keys : { issuer: 'https://k8s' }
  }
  const clock = createManualClock(NOW)
  const warnings: string[] = []
  const destination = { write: (line: string) => void warnings.push(JSON.parse(line).error) }
  const log = createLog({ level: 'warn', destination })
  const ask = async () => assert.fail('nothing is reviewed here')
  const accounts = createServiceAccounts({ read, reviews: createTokenReviews({ ask, clock, log }), clock })
  const registry = new Registry()
  const metrics = createAccessMetrics(registry)
  const authentication = createAuthentication({ secret: () => undefined, accounts, clock, log, metrics })
  const serviceAccounts = { audiences: ['portolan'], namespaces: ['team'] }
  const auth = { anonymous: false, jwt: [], serviceAccounts, revoked: [] }
  const access: AccessConfig = { ...OPEN_ACCESS, auth }
  const verdict = () => authVerdict(auth, authentication.keys(access))
  return {
    clock,
    verdict,
    warnings,
    reads: () => reads,
    setUnavailable: (value: boolean) => {
      isUnavailable = value
    },
    silence: () => {
      isSilent = true
    },
    async changesFrom(reason: string) {
      for (;;) {
        const found = verdict()
        if (found.reason !== reason) return found
        await new Promise(resolve => setImmediate(resolve))
      }
    },
    /** Uses a new token each time, so that no remembered answer is used. */
    async identify(jti: string, kid = 'one') {
      const token = await new SignJWT({ jti })
        .setProtectedHeader({ alg: 'ES256', kid })
        .setIssuer('https://k8s')
        .setAudience('portolan')
        .setSubject('system:serviceaccount:team:agent')
        .setExpirationTime(new Date(clock.now() + HOURS))
        .sign(privateKey)
      const found = await authentication.identify(access, `Bearer ${token}`)
      return 'id' in found ? found.id : found.status
    },
    metric: async (line: string) => {
      const text = await registry.metrics()
      return text.split('\n').find(one => one.startsWith(line))
    },
  }
}

test('keys of the API server are read before a token needs them, and a gateway that cannot read them says so', async () => {
  const { setUnavailable, verdict, changesFrom, identify, clock } = await begin()
  setUnavailable(true)
  assert.equal(verdict().status, 'Unknown')
  const { status, reason, message } = await changesFrom('Starting')
  assert.deepEqual([status, reason], ['False', 'KeysUnavailable'])
  assert.match(message, /no keys of the API server \(ServiceAccounts\), .* 503: the API server answered 403/)
  assert.equal(await identify('one'), 503)
  setUnavailable(false)
  clock.advance(5_001)
  assert.equal((await changesFrom('KeysUnavailable')).reason, 'Ready')
})

test('while the API server is unavailable its keys are stale: they are used for a day, and then no longer', async () => {
  const { setUnavailable, changesFrom, identify, clock } = await begin()
  assert.equal((await changesFrom('Starting')).reason, 'Ready')
  setUnavailable(true)
  clock.advance(6 * MINUTES)
  const stale = await changesFrom('Ready')
  assert.deepEqual([stale.status, stale.reason], ['True', 'KeysStale'])
  assert.match(stale.message, /those of 2026-01-01T00:00:00\.000Z are used for up to 24 h/)
  clock.advance(23 * HOURS)
  assert.equal(await identify('one'), 'serviceaccount:team:agent')
  clock.advance(1 * HOURS)
  assert.deepEqual((await changesFrom('KeysStale')).reason, 'KeysUnavailable')
  assert.equal(await identify('two'), 503)
})

test('however often the state is asked for, the API server is asked once in five seconds', async () => {
  const { setUnavailable, verdict, changesFrom, clock, reads } = await begin()
  setUnavailable(true)
  await changesFrom('Starting')
  const before = reads()
  for (let times = 0; times < 100; times++) verdict()
  clock.advance(4_999)
  verdict()
  assert.equal(reads(), before)
})

test('however many tokens come while the API server is unavailable, it is asked once in five seconds', async () => {
  const { setUnavailable, identify, clock, reads } = await begin()
  setUnavailable(true)
  for (let times = 0; times < 10; times++) assert.equal(await identify(`${times}`), 503)
  assert.equal(reads(), 2)
  clock.advance(5_001)
  setUnavailable(false)
  assert.equal(await identify('there'), 'serviceaccount:team:agent')
  setUnavailable(true)
  clock.advance(6 * MINUTES)
  for (let times = 0; times < 10; times++) {
    assert.equal(await identify(`old ${times}`), 'serviceaccount:team:agent')
    assert.equal(await identify(`unknown ${times}`, 'two'), 503)
  }
  assert.equal(reads(), 6)
})

test('however many tokens cannot be verified, the log says so once a minute', async () => {
  const { setUnavailable, identify, clock, warnings } = await begin()
  setUnavailable(true)
  for (let times = 0; times < 10; times++) assert.equal(await identify(`${times}`), 503)
  assert.deepEqual(warnings, ['the API server answered 403'])
  clock.advance(MINUTES)
  for (let times = 0; times < 10; times++) assert.equal(await identify(`later ${times}`), 503)
  assert.equal(warnings.length, 2)
})

test('while the API server does not answer, tokens with unknown keys delay no others', async () => {
  const { silence, identify, clock } = await begin()
  assert.equal(await identify('one'), 'serviceaccount:team:agent')
  clock.advance(MINUTES)
  silence()
  let refused = 0
  const refusedOnce = new Promise<void>(resolve => {
    for (let at = 0; at < 300; at++)
      void identify(`unknown ${at}`, 'two').then(status => {
        assert.equal(status, 503)
        if (++refused === 300 - 32) resolve()
      })
  })
  await refusedOnce
  assert.equal(await identify('two'), 'serviceaccount:team:agent')
})

test('metrics count the reads of the keys and show their age', async () => {
  const { setUnavailable, verdict, changesFrom, clock, metric } = await begin()
  const fetched = 'portolan_issuer_keys_fetched_total{issuer="serviceAccounts",outcome='
  assert.equal(await metric(`${fetched}"failed"`), `${fetched}"failed"} 0`)
  await changesFrom('Starting')
  assert.equal(await metric(`${fetched}"ok"`), `${fetched}"ok"} 1`)
  setUnavailable(true)
  clock.advance(6 * MINUTES)
  await changesFrom('Ready')
  assert.equal(await metric(`${fetched}"failed"`), `${fetched}"failed"} 1`)
  const age = 'portolan_issuer_keys_age_seconds{issuer="serviceAccounts"}'
  assert.equal(await metric(age), `${age} 360`)
  assert.equal(verdict().reason, 'KeysStale')
})
