/** How the keys of an issuer stand: while it answers, while it is away, and when another one answers in its place. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { JwtIssuerConfig } from '../../core/catalog/access-config.ts'
import { authVerdict } from '../../core/catalog/access-verdicts.ts'
import { createLog } from '../../core/log.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { createIssuerKeys } from './issuer-keys.ts'

const NOW = Date.UTC(2026, 0, 1)
const MINUTES = 60_000

async function issuer(t: TestContext) {
  let answers: 'well' | 'not' | 'as another' = 'well'
  const server = createServer((request, response) => {
    if (answers === 'not') return response.writeHead(500).end()
    const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const issuer = answers === 'well' ? own : `${own}/`
    const metadata = { issuer, jwks_uri: `${own}/keys` }
    return response.end(JSON.stringify(request.url === '/keys' ? { keys: [] } : metadata))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const config: JwtIssuerConfig = {
    name: 'login',
    issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    audiences: ['a'],
    keysFrom: { discovery: true },
    usernameClaim: 'sub',
    groupsClaim: 'groups',
    requiredScopes: [],
    clockSkewMs: 0,
    maxLifetimeMs: 1,
  }
  const clock = createManualClock(NOW)
  const keys = createIssuerKeys(config, {
    clock,
    log: createLog({ level: 'silent' }),
    metrics: { keysFetched() {} },
  })
  t.after(async () => {
    await keys.close()
    server.close()
  })
  const verdict = () => authVerdict({ anonymous: false, jwt: [config] }, [keys.state()])
  return {
    clock,
    answer: (how: typeof answers) => {
      answers = how
    },
    verdict,
    /** Asks until there is another answer than the reason given. */
    async changesFrom(reason: string) {
      for (;;) {
        const found = verdict()
        if (found.reason !== reason) return found
        await new Promise(resolve => setImmediate(resolve))
      }
    },
  }
}

test('keys are fetched before a token needs them; while the issuer is away they are stale, and after a day useless', async t => {
  const { clock, answer, verdict, changesFrom } = await issuer(t)
  assert.equal(verdict().status, 'Unknown')
  assert.deepEqual(await changesFrom('Starting'), {
    status: 'True',
    reason: 'Ready',
    message: 'Credentials are verified; nobody is admitted without one.',
  })
  answer('not')
  clock.advance(6 * MINUTES)
  const stale = await changesFrom('Ready')
  assert.deepEqual([stale.status, stale.reason], ['True', 'KeysStale'])
  assert.match(
    stale.message,
    /"login" cannot be fetched, and those of 2026-01-01T00:00:00\.000Z .*answered 500/,
  )
  clock.advance(24 * 60 * MINUTES)
  const useless = verdict()
  assert.deepEqual([useless.status, useless.reason], ['False', 'KeysUnavailable'])
  assert.match(useless.message, /answered 503/)
  answer('well')
  clock.advance(1 * MINUTES)
  assert.equal((await changesFrom('KeysUnavailable')).reason, 'Ready')
})

test('an issuer that is away at the start has no keys, and is asked again', async t => {
  const { clock, answer, changesFrom } = await issuer(t)
  answer('not')
  assert.equal((await changesFrom('Starting')).reason, 'KeysUnavailable')
  answer('well')
  clock.advance(1 * MINUTES)
  assert.equal((await changesFrom('KeysUnavailable')).reason, 'Ready')
})

test('metadata that names another issuer is told as that', async t => {
  const { answer, changesFrom } = await issuer(t)
  answer('as another')
  const { status, reason, message } = await changesFrom('Starting')
  assert.deepEqual([status, reason], ['False', 'IssuerMismatch'])
  assert.match(message, /is of another issuer/)
})
