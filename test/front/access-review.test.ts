/** ServiceAccount tokens that the API server is asked about, over HTTP on both sides: a deleted pod's token stops working. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import type { AuthConfig } from '../../core/catalog/access-config.ts'
import { createLog } from '../../core/log.ts'
import { connectServiceAccounts } from '../../router/access/cluster-accounts.ts'
import { createAuthenticator } from '../../router/http/service-account.ts'
import { createManualClock, type ManualClock } from '../support/manual-clock.ts'
import { until } from '../support/until.ts'
import { initialize, NOW, SERVERS, send, start } from './access-router.ts'
import { readEvents } from './event-reader.ts'

const LIST = { method: 'tools/list', params: {} }
const MINUTE = 60_000
const SUBJECT = 'system:serviceaccount:team:agent'
const REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews'

type Review = { spec: { token: string; audiences: string[] } }
type Answer = (review: Review, response: ServerResponse) => void

const answering = (status: object): Answer => {
  return (review, response) => response.writeHead(201).end(JSON.stringify({ ...review, status }))
}
const user = { username: SUBJECT }
const accept = answering({ authenticated: true, audiences: ['portolan'], user })
/** The review of a deleted pod's token. */
const deny = answering({ error: 'service account token has been invalidated' })
const fail: Answer = (_review, response) =>
  response.writeHead(500).end('{"kind":"Status","status":"Failure"}')

/** An API server with the keys of its tokens, whose answer to reviews a test changes, and a router that admits its ServiceAccounts. */
async function begin(t: TestContext, more: Partial<AuthConfig['serviceAccounts']> = {}, first = accept) {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }] }
  const asked: { review: Review; authorization: string | undefined }[] = []
  let answer = first
  const server = createServer(async (request, response) => {
    if (request.url !== REVIEWS)
      return response.end(
        JSON.stringify(request.url?.startsWith('/openid') ? keys : { issuer: 'https://k8s' }),
      )
    const review = JSON.parse((await request.toArray()).join('')) as Review
    asked.push({ review, authorization: request.headers.authorization })
    answer(review, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const access = {
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    namespace: 'team',
    credentials: async () => ({ headers: { authorization: 'Bearer of-the-router' }, tls: {} }),
  }
  const clock = createManualClock(NOW)
  const { accounts, close } = connectServiceAccounts(access, { clock, log: createLog({ level: 'silent' }) })
  t.after(async () => {
    await close()
    server.closeAllConnections()
    server.close()
  })
  const auth: AuthConfig = {
    anonymous: false,
    jwt: [],
    serviceAccounts: { audiences: ['portolan'], namespaces: ['team'], reviewMs: MINUTE, ...more },
    revoked: [],
  }
  const credentials = { secret: () => undefined, accounts }
  const log = createLog({ level: 'silent' })
  const authenticate = createAuthenticator({ accounts, audience: 'portolan', namespace: 'team', log, clock })
  const pod = { pod: 'tools-gateway-0', gateway: 'tools', missing: () => [] }
  const admin = { host: '127.0.0.1', port: 0, ...pod, authenticate }
  const started = await start(t, { auth }, {}, undefined, SERVERS, { credentials, clock, admin })
  const sign = (claims: JWTPayload = {}) =>
    new SignJWT({ iss: 'https://k8s', aud: ['portolan'], sub: SUBJECT, exp: NOW / 1_000 + 36_000, ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .sign(privateKey)
  const ask = (token: string) => send(started.origin, LIST, { token })
  return {
    ...started,
    auth,
    clock,
    sign,
    ask,
    asked,
    statusOf: async (token: string) => (await ask(token)).status,
    answerWith: (how: Answer) => {
      answer = how
    },
  }
}

test('a token is reviewed for the audiences of the gateway, once per interval, however many requests bring it', async t => {
  const { sign, statusOf, clock, asked } = await begin(t, { audiences: ['portolan', 'other'] })
  const token = await sign()
  const statuses = await Promise.all(Array.from({ length: 20 }, () => statusOf(token)))
  assert.deepEqual(new Set(statuses), new Set([200]))
  clock.advance(MINUTE - 1)
  assert.equal(await statusOf(token), 200)
  assert.deepEqual(
    asked.map(({ review, authorization }) => [review.spec, authorization]),
    [[{ token, audiences: ['portolan', 'other'] }, 'Bearer of-the-router']],
  )
  clock.advance(1)
  assert.equal(await statusOf(token), 200)
  assert.equal(asked.length, 2)
})

test('the token of a deleted pod is refused once its last review is too old, and not reviewed at each request', async t => {
  const { sign, statusOf, ask, clock, asked, answerWith } = await begin(t)
  const [token, other] = [await sign(), await sign({ jti: 'other' })]
  assert.equal(await statusOf(token), 200)
  answerWith((review, response) => (review.spec.token === token ? deny : accept)(review, response))
  clock.advance(MINUTE - 1)
  assert.equal(await statusOf(token), 200)
  clock.advance(1)
  const { status, headers } = await ask(token)
  assert.equal(status, 401)
  assert.match(headers.get('www-authenticate') ?? '', /error="invalid_token".*the pod .* was deleted/)
  assert.equal(await statusOf(token), 401)
  assert.equal(asked.length, 2)
  assert.equal(await statusOf(other), 200)
})

test('a token that is refused by its signature or claims is not reviewed', async t => {
  const { sign, statusOf, asked } = await begin(t)
  assert.equal(await statusOf(await sign({ aud: ['another'] })), 401)
  assert.equal(await statusOf(await sign({ exp: NOW / 1_000 - 60 })), 401)
  assert.equal(await statusOf(await sign({ sub: 'system:serviceaccount:other:agent' })), 403)
  assert.equal(await statusOf(`${(await sign()).slice(0, -8)}AAAAAAAA`), 401)
  assert.equal(asked.length, 0)
})

test('a review admits a token only if it confirms one of the audiences and the same ServiceAccount', async t => {
  const { sign, statusOf, answerWith } = await begin(t)
  const yes = { authenticated: true, audiences: ['portolan'], user }
  const statuses: object[] = [
    {},
    { ...yes, authenticated: false },
    { ...yes, authenticated: 'true' },
    { authenticated: true, user },
    { ...yes, audiences: [] },
    { ...yes, audiences: ['https://kubernetes.default.svc'] },
    { ...yes, user: { username: 'system:serviceaccount:team:other' } },
    { authenticated: true, audiences: ['portolan'] },
  ]
  for (const [at, status] of statuses.entries()) {
    answerWith(answering(status))
    assert.equal(await statusOf(await sign({ jti: `${at}` })), 401, JSON.stringify(status))
  }
})

test('while the API server does not review, callers whose review is too old are refused, and admitted once it does', async t => {
  const { sign, statusOf, ask, clock, asked, answerWith } = await begin(t)
  const token = await sign()
  assert.equal(await statusOf(token), 200)
  const forbidden: Answer = (_review, response) =>
    response.writeHead(403).end('{"kind":"Status","status":"Failure","reason":"Forbidden","code":403}')
  const broken: Answer = (_review, response) => response.destroy()
  const nonsense: Answer = (_review, response) => response.writeHead(201).end('<html>')
  for (const how of [fail, forbidden, broken, nonsense]) {
    answerWith(how)
    assert.equal(await statusOf(token), 200)
    clock.advance(MINUTE)
    const { status, headers } = await ask(token)
    assert.equal(status, 503)
    assert.equal(headers.get('retry-after'), '1')
    const before = asked.length
    assert.equal(await statusOf(token), 503)
    assert.equal(asked.length, before)
    answerWith(accept)
    clock.advance(1_000)
    assert.equal(await statusOf(token), 200)
  }
})

test('a config that adds reviews also applies to tokens that were admitted before', async t => {
  const { sign, statusOf, asked, auth, change } = await begin(t, { reviewMs: undefined }, deny)
  const token = await sign()
  assert.equal(await statusOf(token), 200)
  assert.equal(asked.length, 0)
  const accounts = { audiences: ['portolan'], namespaces: ['team'], reviewMs: MINUTE }
  await change({ auth: { ...auth, serviceAccounts: accounts } }, 2)
  assert.equal(await statusOf(token), 401)
})

/** Opens a stream in a new session. */
async function openStream(t: TestContext, origin: string, token: string) {
  const begun = await send(origin, initialize, { token, path: '/mcp/direct' })
  const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
  return readEvents(t, `${origin}/mcp/direct`, { authorization: `Bearer ${token}`, ...session })
}

test('the stream of a deleted pod ends within 1.1 review intervals; those of other pods stay open', async t => {
  const { sign, origin, change, auth, clock, asked, answerWith } = await begin(t)
  const [gone, stays] = [await sign(), await sign({ jti: 'other' })]
  const [ended, kept] = [await openStream(t, origin, gone), await openStream(t, origin, stays)]
  answerWith((review, response) => (review.spec.token === gone ? deny : accept)(review, response))
  for (let tenths = 0; tenths < 9; tenths++) await advance(clock, MINUTE / 10)
  assert.equal(asked.length, 2)
  for (let tenths = 0; tenths < 2; tenths++) await advance(clock, MINUTE / 10)
  assert.equal(await ended.next(), undefined)
  await until(() => asked.length >= 4)
  await change({ auth }, 2, { vermilion: SERVERS.vermilion ?? {} })
  assert.equal((await kept.next())?.method, 'notifications/tools/list_changed')
})

test('a deleted pod with a sidecar router is refused at the admin port, and its open stream there ends', async t => {
  const { sign, router, clock, answerWith } = await begin(t)
  const admin = `http://127.0.0.1:${router.adminAddress?.port}`
  const token = await sign()
  const authorization = `Bearer ${token}`
  const catalogStatus = async () => (await fetch(`${admin}/catalog`, { headers: { authorization } })).status
  assert.equal(await catalogStatus(), 200)
  const begun = await send(admin, initialize, { token, path: '/servers/vermilion/mcp' })
  const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
  const stream = await readEvents(t, `${admin}/servers/vermilion/mcp`, { authorization, ...session })
  answerWith(deny)
  for (let tenths = 0; tenths < 11; tenths++) await advance(clock, MINUTE / 10)
  assert.equal(await stream.next(), undefined)
  assert.equal(await catalogStatus(), 401)
})

test('while the API server does not review, streams stay open', async t => {
  const { sign, origin, statusOf, change, auth, clock, asked, answerWith } = await begin(t)
  const token = await sign()
  const stream = await openStream(t, origin, token)
  answerWith(fail)
  for (let tenths = 0; tenths < 10; tenths++) await advance(clock, MINUTE / 10)
  await until(() => asked.length >= 2)
  assert.equal(await statusOf(token), 503)
  await change({ auth }, 2, { vermilion: SERVERS.vermilion ?? {} })
  assert.equal((await stream.next())?.method, 'notifications/tools/list_changed')
})

/** Advances the clock, and lets the timers that fired set their next ones. */
async function advance(clock: ManualClock, ms: number): Promise<void> {
  clock.advance(ms)
  await new Promise(resolve => setImmediate(resolve))
}
