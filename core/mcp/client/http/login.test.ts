/** Responses of authorization servers that a login refuses; test/users tests successful logins. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { serve } from '../../../../test/upstreams/http/serve.ts'
import { beginLogin, finishLogin, refreshLogin } from './login.ts'

/** An upstream that names itself as its authorization server, with these metadata and this answer to token requests. */
async function start(t: TestContext, metadata: object = {}, token: [number, object] = [200, {}]) {
  const asked: string[] = []
  const served = await serve(({ url = '' }, response) => {
    asked.push(url)
    const { origin } = served
    const answer = (status: number, body: object) => void response.writeHead(status).end(JSON.stringify(body))
    if (url.startsWith('/.well-known/oauth-protected-resource'))
      return answer(200, { resource: `${origin}/mcp`, authorization_servers: [origin] })
    if (url === '/token') return answer(...token)
    if (url !== '/.well-known/oauth-authorization-server') return answer(401, {})
    const endpoints = { authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token` }
    const supported = { response_types_supported: ['code'], code_challenge_methods_supported: ['S256'] }
    return answer(200, { issuer: origin, ...endpoints, ...supported, ...metadata })
  })
  t.after(() => served.close())
  const upstream = { url: `${served.origin}/mcp`, transport: 'streamable-http' as const }
  const target = { upstream, scopes: [], clientId: 'portolan', redirectUrl: 'http://127.0.0.1:1/callback' }
  const { signal } = t
  return { begin: () => beginLogin(target, 'state', signal), target, signal, asked, origin: served.origin }
}

test('codes and tokens are sent only over TLS or to this machine', async t => {
  for (const endpoint of ['authorization_endpoint', 'token_endpoint', 'registration_endpoint']) {
    const { begin } = await start(t, { [endpoint]: 'http://login.example.com/any' })
    await assert.rejects(begin(), { code: 'upstream_protocol', message: /without https/ })
  }
})

test('a login does not begin at another issuer than the manifest names, which gets no secret', async t => {
  const honest = { authorization_endpoint: 'https://login.example.com/authorize' }
  const { target, signal, asked, origin } = await start(t, { ...honest, registration_endpoint: undefined })
  const pinned = { ...target, clientSecret: 'secret' }
  const named = (issuer: string) => beginLogin({ ...pinned, issuer }, 'state', signal)
  for (const issuer of ['https://login.example.com', `${origin}/tenant`, `${origin}.example.com`])
    await assert.rejects(named(issuer), { code: 'upstream_protocol', details: { reason: 'OtherIssuer' } })
  assert.ok(!asked.includes('/token'))
  for (const issuer of [origin, `${origin}/`])
    assert.equal((await named(issuer)).url.host, 'login.example.com')
})

test('without TLS, of names with .svc only those of Services are allowed', async t => {
  for (const host of [
    'login.svc.example.com',
    'svc',
    'x.svc.cluster.local.example.com',
    'x.svc.cluster.localhost',
    'x.svc.cluster.local.',
    'x.svc.',
  ]) {
    const { begin } = await start(t, { authorization_endpoint: `http://${host}/any` })
    await assert.rejects(begin(), { code: 'upstream_protocol', message: /without https/ })
  }
  for (const host of ['login.auth.svc', 'login.auth.svc.cluster.local']) {
    const { begin } = await start(t, { authorization_endpoint: `http://${host}/any` })
    assert.equal((await begin()).url.host, host)
  }
})

test('if no client can be registered, the error names the field for a client id', async t => {
  const { target, signal } = await start(t)
  await assert.rejects(
    beginLogin({ ...target, clientId: undefined }, 'state', signal),
    /perUser\.oauth\.clientId/,
  )
})

test('a code without iss, or with another, is not exchanged if the server declares that it sends iss', async t => {
  const { begin, target, signal } = await start(t, { authorization_response_iss_parameter_supported: true })
  const pending = await begin()
  assert.equal(pending.url.searchParams.get('code_challenge_method'), 'S256')
  for (const iss of [undefined, 'https://login.example.com'])
    await assert.rejects(
      finishLogin(target.upstream, pending, { code: 'code', iss }, signal),
      /not of the authorization server/,
    )
})

test('an answer that is too large or has no bearer token is refused, and the error does not repeat it', async t => {
  const answers = [
    { access_token: 'a'.repeat(100_000), token_type: 'bearer' },
    { access_token: 'secret', token_type: 'mac' },
  ]
  for (const answer of answers) {
    const { begin, target, signal } = await start(t, {}, [200, answer])
    const finished = finishLogin(target.upstream, await begin(), { code: 'code', iss: undefined }, signal)
    await assert.rejects(finished, ({ message }: Error) => !/secret|aaa/.test(message))
  }
})

test('only an answer that refuses the grant ends a login', async t => {
  const refusal = { error: 'invalid_grant', error_description: 'secret' }
  for (const [status, isOver] of [
    [400, true],
    [401, true],
    [403, true],
    [429, false],
    [404, false],
    [503, false],
  ] as const) {
    const { begin, target, signal } = await start(t, {}, [status, refusal])
    const { server, client } = await begin()
    const tokens = { access_token: 'a', refresh_token: 'b', token_type: 'bearer' }
    const renewed = refreshLogin({ server, client, tokens }, target.upstream.url, signal)
    if (isOver) assert.equal(await renewed, undefined)
    else await assert.rejects(renewed, { code: 'upstream_unreachable', retryable: true })
  }
})
