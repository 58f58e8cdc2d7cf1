/** OAuth client credentials with a real OAuth server, and an upstream that requires its tokens. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callOf } from '../../../../test/support/call.ts'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { CLIENT_ID, CLIENT_SECRET, startOAuthServer } from '../../../../test/upstreams/http/oauth-server.ts'
import { type Behaviour, hang, raw, startRude } from '../../../../test/upstreams/http/rude.ts'
import { startSdk1 } from '../../../../test/upstreams/http/sdk1.ts'
import { systemClock } from '../../../async.ts'
import type { Fault } from '../../../errors.ts'
import { connectRemote } from '../connect.ts'
import { createTokenSource } from './oauth.ts'

const never = new AbortController().signal
const GIVEN = raw(200, 'application/json', '{"access_token":"t","token_type":"bearer"}')
const upstream = { url: 'http://127.0.0.1:1/mcp', transport: 'streamable-http' } as const
const client = { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET, upstream }

test('many callers share one token, until shortly before it expires', async t => {
  const server = await startOAuthServer({ lifeSeconds: 600 })
  t.after(server.close)
  const clock = createManualClock(Date.now())
  const source = createTokenSource({ ...client, tokenUrl: server.tokenUrl, scopes: ['tools:read'] }, clock)
  const tokens = await Promise.all(Array.from({ length: 10 }, () => source.token(never)))
  assert.equal(new Set(tokens).size, 1)
  assert.ok(server.accepts(tokens[0] ?? ''))
  clock.advance(569_000)
  assert.equal(await source.token(never), tokens[0])
  assert.equal(server.requests(), 1)
  clock.advance(2_000)
  assert.notEqual(await source.token(never), tokens[0])
  assert.equal(server.requests(), 2)
})

test('a refused token is renewed once for all callers', async t => {
  const server = await startOAuthServer()
  t.after(server.close)
  const source = createTokenSource({ ...client, tokenUrl: server.tokenUrl }, systemClock)
  const old = await source.token(never)
  const renewed = await Promise.all([1, 2, 3].map(() => source.token(never, old)))
  assert.equal(new Set(renewed).size, 1)
  assert.notEqual(renewed[0], old)
  assert.equal(await source.token(never, old), renewed[0])
  assert.equal(server.requests(), 2)
})

test('a token endpoint that accepts the secret only in the body gets it there from then on', async t => {
  const server = await startTokenEndpoint((response, message, request) =>
    request.headers.authorization === undefined
      ? GIVEN(response, message, request)
      : raw(401, 'application/json', '{"error":"invalid_client"}')(response, message, request),
  )
  t.after(server.close)
  const source = createTokenSource({ ...client, tokenUrl: server.url }, systemClock)
  assert.equal(await source.token(never), 't')
  await source.token(never, 't')
  assert.equal(server.log.length, 3)
})

for (const [title, more, message] of [
  ['a wrong secret', { clientSecret: 'wrong secret' }, /client/],
  ['a scope that is not granted', { scopes: ['tools:call'] }, /invalid_scope/],
] as const)
  test(`the error for ${title} does not contain the secret`, async t => {
    const server = await startOAuthServer()
    t.after(server.close)
    const source = createTokenSource({ ...client, tokenUrl: server.tokenUrl, ...more }, systemClock)
    await assert.rejects(source.token(never), (fault: Fault) => {
      assert.equal(fault.code, 'upstream_auth_required')
      assert.match(fault.message, message)
      assert.doesNotMatch(fault.message + JSON.stringify(fault.details), /secret: |wrong secret|127\.0\.0\.1/)
      return true
    })
  })

const wrong: [string, Behaviour, Fault['code']][] = [
  ['answers with a page', raw(200, 'text/html', '<h1>Login</h1>'), 'upstream_protocol'],
  ['fails', raw(500, 'text/plain', 'oops'), 'upstream_protocol'],
  ['answers without a token', raw(200, 'application/json', '{}'), 'upstream_protocol'],
  [
    'answers with more than the limit',
    raw(200, 'application/json', 'x'.repeat(100_000)),
    'upstream_protocol',
  ],
  ['breaks the connection', response => void response.destroy(), 'upstream_unreachable'],
]

for (const [title, behaviour, code] of wrong)
  test(`a token endpoint that ${title} is a fault ${code}`, async t => {
    const server = await startTokenEndpoint(behaviour)
    t.after(server.close)
    const source = createTokenSource({ ...client, tokenUrl: server.url }, systemClock)
    await assert.rejects(source.token(never), { code })
  })

test('a request to a token endpoint times out, and the next caller requests again', async t => {
  let asked = 0
  const server = await startTokenEndpoint((response, message, request) =>
    asked++ === 0 ? hang(response, message, request) : GIVEN(response, message, request),
  )
  t.after(server.close)
  const clock = createManualClock()
  const source = createTokenSource({ ...client, tokenUrl: server.url }, clock)
  const first = source.token(never)
  await server.logged('POST')
  clock.advance(10_000)
  await assert.rejects(first, { code: 'upstream_timeout' })
  assert.equal(await source.token(never), 't')
})

for (const transport of ['streamable-http', 'sse'] as const)
  test(`an upstream over ${transport} that rejects its token gets a new one, once`, async t => {
    const oauth = await startOAuthServer()
    const server = await startSdk1(transport === 'sse' ? 'sse' : 'stateful', { accepts: oauth.accepts })
    const auth = createTokenSource({ ...client, tokenUrl: oauth.tokenUrl }, systemClock)
    const spec = { url: server.url, transport, auth, sessions: 'shared', startTimeoutMs: 5_000 } as const
    const upstream = connectRemote(spec, { clock: systemClock })
    t.after(() => Promise.all([upstream.close(), server.close(), oauth.close()]))
    const call = () =>
      upstream.request(callOf({ method: 'tools/call', params: { name: 'count' }, maxBytes: 1e6 }), never)
    await call()
    assert.equal(oauth.requests(), 1)
    oauth.revoke()
    assert.deepEqual((await call()).result?.content, [{ type: 'text', text: '2' }])
    assert.equal(oauth.requests(), 2)
  })

test('an upstream that refuses every token fails with the reason AuthRequired', async t => {
  const oauth = await startOAuthServer()
  const server = await startRude({ 'server/discover': raw(401, 'text/plain', '') })
  const auth = createTokenSource({ ...client, tokenUrl: oauth.tokenUrl }, systemClock)
  const upstream = connectRemote(
    { url: server.url, transport: 'streamable-http', auth, sessions: 'shared', startTimeoutMs: 5_000 },
    { clock: systemClock },
  )
  t.after(() => Promise.all([upstream.close(), server.close(), oauth.close()]))
  const reasons: unknown[] = []
  upstream.onEvent(event => event.kind === 'state' && event.state === 'failed' && reasons.push(event.reason))
  await assert.rejects(upstream.connect(never), { code: 'upstream_auth_required' })
  assert.equal(server.log.length, 2)
  assert.deepEqual(reasons, ['AuthRequired'])
})

/** An HTTP server whose only answer is `behaviour`. */
function startTokenEndpoint(behaviour: Behaviour) {
  return startRude({ '': behaviour })
}
