/** Issuers that fail, lie or are flooded, and clocks that are wrong: over HTTP, against a running router. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../support/until.ts'
import { type Answer, failing, HOUR, healthy, keyServer, MINUTE } from './access-key-server.ts'
import { BLUE, initialize, NOW, RED, send, start } from './access-router.ts'

const LIST = { method: 'tools/list', params: {} }

test('while an issuer fails, its cached keys verify new tokens, for a day at most', async t => {
  const { sign, statusOf, clock, answerWith } = await keyServer(t)
  assert.equal(await statusOf(await sign()), 200)
  answerWith(failing)
  clock.advance(HOUR)
  assert.equal(await statusOf(await sign({ sub: 'new' })), 200)
  clock.advance(24 * HOUR)
  const late = await sign({ sub: 'late' })
  assert.equal(await statusOf(late), 503)
  answerWith(healthy)
  clock.advance(5_000)
  assert.equal(await statusOf(late), 200)
})

test('while the issuer fails, changes of auth that do not concern the source of its keys leave them in use', async t => {
  const { sign, statusOf, clock, answerWith, change, access } = await keyServer(t)
  const [good, bad] = [await sign(), await sign({ sub: 'mallory' })]
  assert.deepEqual([await statusOf(good), await statusOf(bad)], [200, 200])
  answerWith(failing)
  clock.advance(HOUR / 2)
  const { auth } = access
  await change({ ...access, auth: { ...auth, revoked: [{ subject: 'mallory' }] } }, 2)
  assert.deepEqual([await statusOf(good), await statusOf(bad)], [200, 401])
  const audiences = ['https://mcp.example.com/mcp', 'more']
  await change({ ...access, auth: { ...auth, jwt: auth.jwt.map(jwt => ({ ...jwt, audiences })) } }, 3)
  assert.equal(await statusOf(await sign({ aud: 'more' })), 200)
  const elsewhere = auth.jwt.map(jwt => ({ ...jwt, keysFrom: { uri: `${jwt.issuer}/elsewhere` } }))
  await change({ ...access, auth: { ...auth, jwt: elsewhere } }, 4)
  assert.equal(await statusOf(good), 503)
})

test('the tokens of an issuer that fails at the start are refused until it answers', async t => {
  const { sign, statusOf, clock, answerWith } = await keyServer(t, failing)
  assert.equal(await statusOf(await sign()), 503)
  answerWith(healthy)
  clock.advance(5_000)
  assert.equal(await statusOf(await sign()), 200)
})

test('keys are taken only from a small, complete JSON answer without a redirect', async t => {
  const { sign, statusOf, clock, answerWith, asked } = await keyServer(t, failing)
  // Each has the right keys in it if possible, so that a reader that tolerates the fault admits the token.
  const answers: [string, Answer][] = [
    ['redirect', (response, keys) => response.writeHead(302, { location: '/elsewhere' }).end(keys)],
    ['huge', (response, keys) => response.end(keys.padEnd(1024 * 1024 + 1))],
    ['HTML', (response, keys) => response.end(`<!doctype html><pre>${keys}</pre>`)],
    ['no keys', response => response.end('{}')],
    ['keys of nothing', response => response.end('{"keys":[]}')],
    ['a list', (response, keys) => response.end(`[${keys}]`)],
    ['null', response => response.end('null')],
    ['cut off', (response, keys) => response.writeHead(200, { 'content-length': 9_999 }).write(keys)],
  ]
  assert.equal(await statusOf(await sign()), 503)
  for (const [what, answer] of answers) {
    answerWith((response, keys) => {
      answer(response, keys)
      if (what === 'cut off') setImmediate(() => response.destroy())
    })
    const before = asked.length
    clock.advance(5_000)
    assert.notEqual(await statusOf(await sign({ jti: what })), 200, what)
    assert.deepEqual(asked.slice(before), ['/keys'], what)
  }
  answerWith((response, keys) => response.end(keys.padEnd(1024 * 1024)))
  clock.advance(5_000)
  assert.equal(await statusOf(await sign()), 200)
})

test('1,000 tokens with unknown keys cause one fetch in five seconds, and other tokens are admitted meanwhile', async t => {
  const { sign, statusOf, clock, asked } = await keyServer(t)
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

test('times of a token may be off by the allowed skew, but not by two minutes', async t => {
  const { sign, statusOf, clock } = await keyServer(t)
  const seconds = NOW / 1_000
  assert.equal(await statusOf(await sign({ iat: seconds + 20 })), 200)
  assert.equal(await statusOf(await sign({ iat: seconds + 120, exp: seconds + 600 })), 401)
  assert.equal(await statusOf(await sign({ iat: seconds - 720, exp: seconds - 120 })), 401)
  const early = await sign({ iat: seconds + 120, exp: seconds + 600 })
  clock.advance(2 * MINUTE)
  assert.equal(await statusOf(early), 200)
})

test('two routers share a rate limit', async t => {
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

test('after the clock is set back, limits still end within a minute, and sessions still work', async t => {
  const rateLimits = [{ per: 'Caller', counts: 'requests', limit: 10, everyMs: MINUTE, burst: 10 } as const]
  const { origin, clock } = await start(t, { rateLimits })
  const ask = async (token: string, headers = {}) => send(origin, LIST, { token, headers })
  const begun = await send(origin, initialize, { token: RED })
  const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
  let refused = await ask(RED)
  while (refused.status === 200) refused = await ask(RED)
  assert.equal(refused.status, 429)
  clock.setBack(24 * HOUR)
  const still = await ask(RED)
  assert.equal(still.status, 429)
  assert.ok(Number(still.headers.get('retry-after')) <= 60, `${still.headers.get('retry-after')}`)
  assert.equal((await ask(BLUE)).status, 200)
  clock.advance(MINUTE)
  assert.equal((await ask(RED, session)).status, 200)
  const statuses = []
  for (let times = 0; times < 20; times++) statuses.push((await ask(RED)).status)
  assert.ok(statuses.filter(status => status === 200).length <= 10, `${statuses}`)
})

test('failed logins are limited for a minute at most after the clock is set back', async t => {
  const { sign, statusOf, clock } = await keyServer(t)
  const wrong = await sign({ aud: 'another' })
  await until(async () => (await statusOf(wrong)) === 429)
  clock.setBack(24 * HOUR)
  assert.equal(await statusOf(wrong), 429)
  clock.advance(MINUTE)
  assert.equal(await statusOf(wrong), 401)
})
