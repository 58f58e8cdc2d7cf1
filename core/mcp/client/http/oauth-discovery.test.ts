/** Upstreams that name their authorization server, with a real OAuth server, and with metadata that cannot be trusted. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { callOf } from '../../../../test/support/call.ts'
import { CLIENT_ID, CLIENT_SECRET, startOAuthServer } from '../../../../test/upstreams/http/oauth-server.ts'
import { startSdk1 } from '../../../../test/upstreams/http/sdk1.ts'
import { serve } from '../../../../test/upstreams/http/serve.ts'
import { systemClock } from '../../../async.ts'
import type { Fault } from '../../../errors.ts'
import { connectRemote } from '../connect.ts'
import { createTokenSource } from './oauth.ts'

const never = new AbortController().signal
const PROTECTED_RESOURCE = '/.well-known/oauth-protected-resource'
const AUTHORIZATION_SERVER = '/.well-known/oauth-authorization-server'
const client = { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET }

for (const transport of ['streamable-http', 'sse'] as const)
  test(`an upstream over ${transport} names its authorization server when it refuses a call without a token`, async t => {
    const oauth = await startOAuthServer()
    const server = await startSdk1(transport === 'sse' ? 'sse' : 'stateful', {
      accepts: oauth.accepts,
      authorizationServer: oauth.issuer,
    })
    const at = { url: server.url, transport }
    const auth = createTokenSource({ ...client, upstream: at }, systemClock)
    const spec = { ...at, auth, sessions: 'shared', startTimeoutMs: 5_000 } as const
    const upstream = connectRemote(spec, { clock: systemClock })
    t.after(() => Promise.all([upstream.close(), server.close(), oauth.close()]))
    const request = { method: 'tools/call', params: { name: 'count' }, maxBytes: 1e6 } as const
    assert.deepEqual((await upstream.request(callOf(request), never)).result?.content, [
      { type: 'text', text: '1' },
    ])
    assert.equal(oauth.requests(), 1)
  })

test('metadata at the well-known URLs are found without a challenge; the token is for that resource and its scopes', async t => {
  const { token, asked } = await begin(t, origin => ({
    [`${PROTECTED_RESOURCE}/mcp`]: {
      resource: `${origin}/mcp`,
      authorization_servers: [`${origin}/tenant`],
      scopes_supported: ['a', 'b'],
    },
    [`${AUTHORIZATION_SERVER}/tenant`]: metadata(`${origin}/tenant`, origin),
    '/token': { access_token: 't', token_type: 'Bearer' },
  }))
  assert.equal(await token(), 't')
  const form = new URLSearchParams(asked.at(-1)?.body)
  assert.equal(form.get('grant_type'), 'client_credentials')
  assert.equal(form.get('scope'), 'a b')
  assert.match(form.get('resource') ?? '', /\/mcp$/)
})

test('an upstream that names no authorization server is its own authorization server', async t => {
  const { token } = await begin(t, origin => ({
    [AUTHORIZATION_SERVER]: metadata(origin, origin),
    '/token': { access_token: 't', token_type: 'bearer' },
  }))
  assert.equal(await token(), 't')
})

test('an authorization server that accepts the secret only in the body gets it there at once', async t => {
  const { token, asked } = await begin(t, origin => ({
    [AUTHORIZATION_SERVER]: {
      ...metadata(origin, origin),
      token_endpoint_auth_methods_supported: ['client_secret_post'],
    },
    '/token': { access_token: 't', token_type: 'bearer' },
  }))
  assert.equal(await token(), 't')
  const requests = asked.filter(({ path }) => path === '/token')
  assert.equal(requests.length, 1)
  assert.equal(new URLSearchParams(requests[0]?.body).get('client_secret'), CLIENT_SECRET)
})

const wrong: [string, (origin: string) => Pages, Fault['code'], RegExp][] = [
  ['publishes no metadata', () => ({}), 'upstream_auth_required', /set spec\.auth\.oauth\.tokenUrl/],
  [
    'shows the metadata of another resource',
    origin => ({
      [PROTECTED_RESOURCE]: { resource: 'https://bank.example/mcp', authorization_servers: [origin] },
      [AUTHORIZATION_SERVER]: metadata(origin, origin),
    }),
    'upstream_protocol',
    /another resource/,
  ],
  [
    'names a server that claims another issuer',
    origin => ({ [AUTHORIZATION_SERVER]: metadata('https://bank.example', origin) }),
    'upstream_protocol',
    /another issuer/,
  ],
  [
    'publishes metadata over the size limit',
    () => ({ [AUTHORIZATION_SERVER]: { issuer: 'x'.repeat(100_000) } }),
    'upstream_protocol',
    /too large/,
  ],
  [
    'names a script as its token endpoint',
    origin => ({
      [AUTHORIZATION_SERVER]: { ...metadata(origin, origin), token_endpoint: 'javascript:alert(1)' },
    }),
    'upstream_protocol',
    /not valid OAuth/,
  ],
]

for (const [title, pages, code, message] of wrong)
  test(`an upstream that ${title} gets no secret`, async t => {
    const { token, asked } = await begin(t, pages)
    await assert.rejects(token, (fault: Fault) => {
      assert.equal(fault.code, code)
      assert.match(fault.message, message)
      assert.doesNotMatch(fault.message + JSON.stringify(fault.details), /secret: |127\.0\.0\.1/)
      return true
    })
    assert.equal(asked.filter(({ path }) => path === '/token').length, 0)
  })

test('an upstream over https cannot name an authorization server without TLS', async () => {
  const { createOAuthFetch } = await import('./oauth-fetch.ts')
  const { fetch } = createOAuthFetch('https://mcp.example.com/mcp', never)
  const asked = fetch('http://127.0.0.1:1/token', { method: 'POST' })
  await assert.rejects(async () => asked, { code: 'upstream_protocol', message: /not https/ })
})

type Pages = Record<string, object>

/** An upstream that refuses every call, with these JSON pages beside it. */
async function begin(t: TestContext, pages: (origin: string) => Pages) {
  const asked: { path: string; body: string }[] = []
  const { origin, close } = await serve(async (request, response) => {
    const path = request.url ?? ''
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    asked.push({ path, body: Buffer.concat(chunks).toString() })
    const page = pages(origin)[path]
    response.writeHead(page ? 200 : path === '/mcp' ? 401 : 404, { 'content-type': 'application/json' })
    response.end(page && JSON.stringify(page))
  })
  t.after(close)
  const upstream = { url: `${origin}/mcp`, transport: 'streamable-http' } as const
  const source = createTokenSource({ ...client, upstream }, systemClock)
  return { asked, token: () => source.token(never) }
}

function metadata(issuer: string, origin: string) {
  return {
    issuer,
    token_endpoint: `${origin}/token`,
    authorization_endpoint: `${origin}/authorize`,
    response_types_supported: ['code'],
  }
}
