/** Issuers that fail, lie or are flooded, and clocks that are wrong: over HTTP, against a running router. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { NOW, RED, send, start } from './access-router.ts'

const LIST = { method: 'tools/list', params: {} }
const MINUTE = 60_000
const HOUR = 60 * MINUTE

type Answer = (response: ServerResponse, keys: string) => void

const well: Answer = (response, keys) => response.end(keys)
const away: Answer = response => response.writeHead(503).end()

/** A real issuer on loopback, whose answers a test changes, and a router that admits its tokens. */
async function issuer(t: TestContext, first: Answer = well) {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }] })
  let answer = first
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    answer(response, keys)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const jwt = {
    name: 'own',
    issuer: own,
    audiences: ['https://mcp.example.com/mcp'],
    keysFrom: { uri: `${own}/keys` },
    usernameClaim: 'sub',
    groupsClaim: 'groups',
    requiredScopes: [],
    clockSkewMs: 30_000,
    maxLifetimeMs: 48 * HOUR,
  }
  const started = await start(t, {
    url: 'https://mcp.example.com',
    auth: { anonymous: false, jwt: [jwt], revoked: [] },
  })
  const { origin, clock } = started
  const sign = (claims: JWTPayload = {}, kid = 'one') =>
    new SignJWT({
      iss: own,
      aud: jwt.audiences,
      sub: 'ada',
      iat: clock.now() / 1_000,
      exp: clock.now() / 1_000 + 3_600,
      ...claims,
    })
      .setProtectedHeader({ alg: 'ES256', kid })
      .sign(privateKey)
  const statusOf = async (token: string) => (await send(origin, LIST, { token })).status
  const answerWith = (how: Answer) => {
    answer = how
  }
  return { ...started, asked, sign, statusOf, answerWith }
}

test('with the keys away for an hour, new tokens are verified with the old ones, and for a day at most', async t => {
  const { sign, statusOf, clock, answerWith } = await issuer(t)
  assert.equal(await statusOf(await sign()), 200)
  answerWith(away)
  clock.advance(HOUR)
  assert.equal(await statusOf(await sign({ sub: 'new' })), 200)
  clock.advance(24 * HOUR)
  const late = await sign({ sub: 'late' })
  assert.equal(await statusOf(late), 503)
  answerWith(well)
  clock.advance(5_000)
  assert.equal(await statusOf(late), 200)
})

test('an issuer that is away at the start lets nobody in, and everybody once it is there', async t => {
  const { sign, statusOf, clock, answerWith } = await issuer(t, away)
  assert.equal(await statusOf(await sign()), 503)
  answerWith(well)
  clock.advance(5_000)
  assert.equal(await statusOf(await sign()), 200)
})

test('keys are taken from nothing but a small, direct, prompt answer in JSON', async t => {
  const { sign, statusOf, clock, answerWith, asked } = await issuer(t, away)
  const answers: [string, Answer][] = [
    ['redirect', (response, keys) => response.writeHead(302, { location: '/elsewhere' }).end(keys)],
    ['huge', (response, keys) => response.end(keys.padEnd(1024 * 1024 + 1))],
    ['HTML', response => response.end('<!doctype html><title>Log in</title>')],
    ['no keys', response => response.end('{}')],
    ['keys of nothing', response => response.end('{"keys":[]}')],
    ['a list', response => response.end('[]')],
    ['null', response => response.end('null')],
    ['cut off', response => response.writeHead(200, { 'content-length': 9_999 }).write('{"keys":')],
  ]
  for (const [what, answer] of answers) {
    answerWith((response, keys) => {
      answer(response, keys)
      if (what === 'cut off') setImmediate(() => response.destroy())
    })
    clock.advance(5_000)
    assert.notEqual(await statusOf(await sign({ jti: what })), 200, what)
  }
  assert.ok(!asked.includes('/elsewhere'))
})

test('1,000 tokens with unknown keys cause one fetch in five seconds, and others are let in meanwhile', async t => {
  const { sign, statusOf, clock, asked } = await issuer(t)
  const good = await sign()
  assert.equal(await statusOf(good), 200)
  clock.advance(5_000)
  const before = asked.length
  const unknown = await Promise.all(Array.from({ length: 1_000 }, (_, at) => sign({}, `key-${at}`)))
  for (let at = 0; at < unknown.length; at += 100) {
    const statuses = await Promise.all([good, ...unknown.slice(at, at + 100)].map(statusOf))
    assert.equal(statuses[0], 200)
    assert.ok(statuses.slice(1).every(status => status === 401 || status === 429 || status === 503))
  }
  assert.equal(asked.length - before, 1)
  clock.advance(5_000)
  await statusOf(await sign({}, 'another'))
  assert.equal(asked.length - before, 2)
})

test('a clock that is off by two minutes is told apart from the skew that is allowed', async t => {
  const { sign, statusOf, clock } = await issuer(t)
  const seconds = NOW / 1_000
  assert.equal(await statusOf(await sign({ iat: seconds + 20 })), 200)
  assert.equal(await statusOf(await sign({ iat: seconds + 120, exp: seconds + 600 })), 401)
  assert.equal(await statusOf(await sign({ iat: seconds - 720, exp: seconds - 120 })), 401)
  const early = await sign({ iat: seconds + 120, exp: seconds + 600 })
  clock.advance(2 * MINUTE)
  assert.equal(await statusOf(early), 200)
})

test('two routers share a limit', async t => {
  const rateLimits = [{ per: 'Caller', counts: 'requests', limit: 10, everyMs: MINUTE, burst: 10 } as const]
  const routers = [
    await start(t, { rateLimits }, { routers: 2 }),
    await start(t, { rateLimits }, { routers: 2 }),
  ]
  const allowed: number[] = []
  for (const { origin } of routers) {
    const statuses = []
    for (let times = 0; times < 10; times++) statuses.push((await send(origin, LIST, { token: RED })).status)
    allowed.push(statuses.filter(status => status === 200).length)
  }
  const sum = allowed.reduce((a, b) => a + b, 0)
  assert.ok(sum >= 10 && sum <= 12, `${allowed}`)
})
