/** Tokens of issuers: who is admitted and who is refused, over HTTP, against a running router. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SignJWT } from 'jose'
import { type Claims, withIssuer } from './access-issuer.ts'
import { initialize, NOW, send } from './access-router.ts'

test('a token of an issuer is admitted with its groups; every forged or invalid one is refused', async t => {
  const { sign, ask, jwk, clock } = await withIssuer(t)
  assert.match((await ask(await sign({ groups: ['dev'] }))).text, /vermilion_get/)
  for (const groups of ['dev', ['dev', 1, null]])
    assert.match((await ask(await sign({ groups }))).text, /vermilion_get/)
  for (const groups of [undefined, null, 'ops', ['system:dev'], 7, { dev: true }])
    assert.doesNotMatch((await ask(await sign({ groups } as Claims))).text, /vermilion/)
  const seconds = NOW / 1_000
  const invalid: [string, string][] = [
    ['audience as prefix', await sign({ aud: 'https://mcp.example.com/mc' })],
    ['longer audience', await sign({ aud: 'https://mcp.example.com/mcp/' })],
    ['no audience', await sign({ aud: undefined })],
    ['issuer with a slash more', await sign({ iss: 'https://id.example.com/' })],
    ['expired', await sign({ exp: seconds - 60, iat: seconds - 600 })],
    ['no expiry', await sign({ exp: undefined })],
    ['not yet valid', await sign({ nbf: seconds + 60 })],
    ['issued in the future', await sign({ iat: seconds + 60 })],
    ['no time of issue', await sign({ iat: undefined })],
    ['valid for a year', await sign({ exp: seconds + 365 * 24 * 3_600 })],
    ['no subject', await sign({ sub: undefined })],
    ['subject that is no text', await sign({ sub: 'ada\ud800' })],
    ['ID token', await sign({ nonce: 'n' })],
    ['ID token with a hash', await sign({ at_hash: 'h', scope: 'mcp' })],
    ['identity assertion', await sign({}, { typ: 'oauth-id-jag+jwt' })],
    ['jku', await sign({}, { jku: 'https://evil.example/keys' })],
    ['x5u', await sign({}, { x5u: 'https://evil.example/keys' })],
    ['jwk', await sign({}, { jwk })],
    ['unknown key', await sign({}, { kid: 'two' })],
    ['key as path', await sign({}, { kid: '../../etc/passwd' })],
    ['key of 10 KB', await sign({}, { kid: 'k'.repeat(9_000) })],
    ['too many groups', await sign({ groups: Array.from({ length: 1_001 }, (_, at) => `g${at}`) })],
    ['revoked subject', await sign({ sub: 'gone' })],
    ['revoked token', await sign({ jti: 'lost' })],
  ]
  const [head = '', body = ''] = (await sign()).split('.')
  const none = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url')
  invalid.push(['alg none', `${none}.${body}.`], ['no signature', `${head}.${body}.`])
  const hs = new SignJWT({
    iss: 'https://id.example.com',
    aud: ['https://mcp.example.com/mcp'],
    sub: 'ada',
    iat: seconds,
    exp: seconds + 60,
  })
  invalid.push([
    'HS256 with the public key',
    await hs.setProtectedHeader({ alg: 'HS256', kid: 'one' }).sign(Buffer.from(JSON.stringify(jwk))),
  ])
  for (const [what, token] of invalid) {
    // Failed logins are limited, so time has to pass between them.
    clock.advance(1_000)
    const { status, headers } = await ask(token)
    assert.ok(status === 401 || status === 400, `${what}: ${status}`)
    if (status === 401)
      assert.match(
        headers.get('www-authenticate') ?? '',
        /error="invalid_token".*resource_metadata="https:\/\/mcp\.example\.com\//,
        what,
      )
  }
})

test('metadata and challenges come from the manifest, whatever Host and X-Forwarded-Host say', async t => {
  const { origin } = await withIssuer(t, { requiredScopes: ['mcp'] })
  const url = `${origin}/.well-known/oauth-protected-resource/mcp`
  const answer = await fetch(url, { headers: { 'x-forwarded-host': 'evil.example' } })
  assert.deepEqual(await answer.json(), {
    resource: 'https://mcp.example.com/mcp',
    authorization_servers: ['https://id.example.com'],
    bearer_methods_supported: ['header'],
    scopes_supported: ['mcp'],
  })
  const refused = await send(
    origin,
    { method: 'tools/list' },
    { headers: { 'x-forwarded-host': 'evil.example' } },
  )
  assert.equal(
    refused.headers.get('www-authenticate'),
    'Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp", scope="mcp"',
  )
  assert.equal((await fetch(`${origin}/.well-known/oauth-protected-resource/other`)).status, 404)
})

test('a page of an allowed origin may send preflight requests and read the metadata; a page of another may not', async t => {
  const { origin } = await withIssuer(t, { requiredScopes: ['mcp'] })
  const ask = {
    'access-control-request-method': 'GET',
    'access-control-request-headers': 'mcp-protocol-version',
  }
  const read = async (path: string, method: string, from: string) => {
    const asked = method === 'OPTIONS' ? ask : {}
    const { status, headers } = await fetch(`${origin}${path}`, {
      method,
      headers: { origin: from, ...asked },
    })
    return { status, origin: headers.get('access-control-allow-origin'), headers }
  }
  const page = 'http://localhost:6274'
  const metadata = '/.well-known/oauth-protected-resource'
  for (const path of ['/mcp', metadata, `${metadata}/mcp`, `${metadata}/mcp/direct`]) {
    const preflight = await read(path, 'OPTIONS', page)
    assert.deepEqual([preflight.status, preflight.origin], [204, page], path)
    assert.match(preflight.headers.get('access-control-allow-methods') ?? '', /GET/)
    assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /mcp-protocol-version/)
    assert.equal((await read(path, 'OPTIONS', 'https://evil.example')).status, 403, path)
    if (path === '/mcp') continue
    const { status, origin: allowed } = await read(path, 'GET', page)
    assert.deepEqual([status, allowed], [200, page], path)
  }
})

test('the answer to a token without the required scopes names them', async t => {
  const { sign, ask } = await withIssuer(t, { requiredScopes: ['mcp', 'tools'] })
  const { status, headers } = await ask(await sign({ scope: 'mcp' }))
  assert.equal(status, 403)
  assert.match(headers.get('www-authenticate') ?? '', /error="insufficient_scope".*scope="mcp tools"/)
  assert.equal((await ask(await sign({ scope: 'mcp tools' }))).status, 200)
  assert.equal((await ask(await sign({ scp: ['mcp', 'tools'] }))).status, 200)
})

test('an open stream ends when the token of its caller expires', async t => {
  const { sign, origin, clock } = await withIssuer(t)
  const token = await sign({ exp: NOW / 1_000 + 60 })
  const begun = await send(origin, initialize, { token })
  const stream = await fetch(`${origin}/mcp`, {
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'text/event-stream',
      'mcp-session-id': begun.headers.get('mcp-session-id') ?? '',
    },
  })
  assert.equal(stream.status, 200)
  const ended = stream.text()
  clock.advance(60_000 + 30_000)
  await ended
  assert.equal((await send(origin, { method: 'tools/list' }, { token })).status, 401)
})
