/** The state of an issuer's keys: while it answers, while it is unreachable, and when another server answers at its address. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { type TestContext, test } from 'node:test'
import type { JwtIssuerConfig } from '../../core/catalog/access-config.ts'
import { authVerdict } from '../../core/catalog/access-verdicts.ts'
import { createLog } from '../../core/log.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { until } from '../../test/support/until.ts'
import { createIssuerKeys } from './issuer-keys.ts'

const NOW = Date.UTC(2026, 0, 1)
const MINUTES = 60_000

/** An address of this machine outside loopback: it stands for another machine. */
const ELSEWHERE = Object.values(networkInterfaces())
  .flatMap(addresses => addresses ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address

/** `keysAt`: the address of the keys; `path`: of the issuer; `metadataAt`: the only path with metadata. */
type Given = { host?: string; keysAt?: string; path?: string; metadataAt?: string }

async function issuer(t: TestContext, { host = '127.0.0.1', keysAt, path = '', metadataAt }: Given = {}) {
  let answers: 'well' | 'with 500' | 'as another' | 'never' = 'well'
  const server = createServer((request, response) => {
    if (answers === 'never') return
    if (answers === 'with 500') return void response.writeHead(500).end()
    const own = `http://${host}:${(server.address() as AddressInfo).port}`
    const issuer = answers === 'well' ? `${own}${path}` : `${own}/`
    const metadata = { issuer, jwks_uri: keysAt ?? `${own}/keys` }
    if (request.url === '/keys') return void response.end(JSON.stringify({ keys: [] }))
    if (metadataAt !== undefined && request.url !== metadataAt) return void response.writeHead(404).end()
    response.end(JSON.stringify(metadata))
  })
  server.listen(0, host)
  await once(server, 'listening')
  const config: JwtIssuerConfig = {
    name: 'login',
    issuer: `http://${host}:${(server.address() as AddressInfo).port}${path}`,
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
    server.closeAllConnections()
    server.close()
  })
  const verdict = () => authVerdict({ anonymous: false, jwt: [config] }, [keys.state()])
  return {
    clock,
    keys,
    answer: (how: typeof answers) => {
      answers = how
    },
    verdict,
    /** Repeats the request until the reason differs from the one given. */
    async changesFrom(reason: string) {
      for (;;) {
        const found = verdict()
        if (found.reason !== reason) return found
        await new Promise(resolve => setImmediate(resolve))
      }
    },
  }
}

test('keys are fetched before the first token; while the issuer fails they are stale, and expire after a day', async t => {
  const { clock, answer, verdict, changesFrom } = await issuer(t)
  assert.equal(verdict().status, 'Unknown')
  assert.deepEqual(await changesFrom('Starting'), {
    status: 'True',
    reason: 'Ready',
    message: 'Credentials are verified; nobody is admitted without one.',
  })
  answer('with 500')
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

test('keys expire a day after they were fetched, also if the machine was suspended meanwhile', async t => {
  const { clock, answer, verdict, changesFrom } = await issuer(t)
  verdict()
  await changesFrom('Starting')
  answer('with 500')
  clock.suspend(25 * 60 * MINUTES)
  assert.equal(verdict().reason, 'KeysUnavailable')
})

test('an issuer that is unreachable at the start has no keys, and is retried', async t => {
  const { clock, answer, changesFrom } = await issuer(t)
  answer('with 500')
  assert.equal((await changesFrom('Starting')).reason, 'KeysUnavailable')
  answer('well')
  clock.advance(1 * MINUTES)
  assert.equal((await changesFrom('KeysUnavailable')).reason, 'Ready')
})

test('while an issuer does not answer, 32 tokens with unknown keys wait for it; others are refused at once', async t => {
  const { clock, answer, changesFrom, keys } = await issuer(t)
  await changesFrom('Starting')
  answer('never')
  clock.advance(1 * MINUTES)
  const outcomes: string[] = []
  const unknown = { payload: '', signature: '', protected: '' }
  const finds = Array.from({ length: 100 }, (_, at) =>
    Promise.resolve(keys.find({ alg: 'ES256', kid: `unknown-${at}` }, unknown)).catch(error =>
      outcomes.push(error.constructor.name),
    ),
  )
  await until(() => outcomes.length >= 68)
  assert.deepEqual(new Set(outcomes), new Set(['TooManyWait']))
  // The metadata is requested at two addresses, one after the other.
  while (outcomes.length < 100) {
    clock.advance(5_000)
    await new Promise(resolve => setImmediate(resolve))
  }
  await Promise.all(finds)
  assert.deepEqual(outcomes.slice(68), Array(32).fill('JWKSNoMatchingKey'))
})

test('the metadata of an issuer with a path is found before the path and after it', async t => {
  for (const path of ['/tenant', '/tenant/'])
    for (const metadataAt of [
      '/tenant/.well-known/openid-configuration',
      '/tenant/.well-known/oauth-authorization-server',
      '/.well-known/oauth-authorization-server/tenant',
    ]) {
      const { changesFrom } = await issuer(t, { path, metadataAt })
      assert.equal((await changesFrom('Starting')).reason, 'Ready', `${path} ${metadataAt}`)
    }
})

test('metadata that names another issuer is refused, and the reason says so', async t => {
  const { answer, changesFrom } = await issuer(t)
  answer('as another')
  const { status, reason, message } = await changesFrom('Starting')
  assert.deepEqual([status, reason], ['False', 'IssuerMismatch'])
  assert.match(message, /is of another issuer/)
})

test('if the metadata of a remote issuer names a keys URL on loopback, nothing is requested there', {
  skip: ELSEWHERE === undefined && 'this machine has no address besides loopback',
}, async t => {
  let connections = 0
  const service = createTcpServer(socket => {
    connections++
    socket.destroy()
  })
  service.listen(0, '127.0.0.1')
  await once(service, 'listening')
  t.after(() => service.close())
  const { port } = service.address() as AddressInfo
  const { changesFrom } = await issuer(t, { host: ELSEWHERE, keysAt: `https://127.0.0.1:${port}/keys` })
  const { reason, message } = await changesFrom('Starting')
  assert.equal(reason, 'KeysUnavailable')
  assert.match(message, /names no usable jwks_uri/)
  assert.equal(connections, 0)
})
