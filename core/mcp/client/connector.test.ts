/** Upstreams of endpoints that refer to Secrets: called with the current values, and a clear fault without them. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { serverOf } from '../../../test/meta/fixture.ts'
import { callOf } from '../../../test/support/call.ts'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { CLIENT_ID, CLIENT_SECRET, startOAuthServer } from '../../../test/upstreams/http/oauth-server.ts'
import { type Sdk1Options, startSdk1 } from '../../../test/upstreams/http/sdk1.ts'
import { systemClock } from '../../async.ts'
import type { Endpoint } from '../../catalog/router-config.ts'
import type { Upstream } from '../upstream.ts'
import { type ConnectorOptions, createConnector } from './connector.ts'

type HttpEndpoint = Extract<Endpoint, { kind: 'http' }>
type Secrets = Record<string, Record<string, string>>

const never = new AbortController().signal

test('headers contain fixed values and the current values of Secrets at each request', async t => {
  const secrets: Secrets = { keys: { first: 'one\n' } }
  const { upstream } = await begin(t, secrets, {
    headers: [
      { name: 'X-Plain', value: 'plain' },
      { name: 'X-Key', secret: { name: 'keys', key: 'first' } },
      { name: 'X-Maybe', secret: { name: 'other', key: 'none', optional: true } },
    ],
  })
  assert.equal(await header(upstream, 'x-plain'), 'plain')
  assert.equal(await header(upstream, 'x-key'), 'one')
  assert.equal(await header(upstream, 'x-maybe'), 'undefined')
  secrets.keys = { first: 'two' }
  assert.equal(await header(upstream, 'x-key'), 'two')
  secrets.keys = { first: 'two\nX-Other: three' }
  await assert.rejects(header(upstream, 'x-key'), {
    code: 'bad_request',
    details: { reason: 'Invalid' },
    message:
      'The value of key first of Secret keys is no header: it has a line break or another control character',
  })
  assert.equal(await header(upstream, 'x-plain').catch(({ code }) => code), 'bad_request')
  secrets.keys = { first: 'three' }
  assert.equal(await header(upstream, 'x-key'), 'three')
})

test('a missing Secret or key is a fault that names it, until it exists', async t => {
  const secrets: Secrets = {}
  const { upstream } = await begin(t, secrets, {
    headers: [{ name: 'X-Key', secret: { name: 'keys', key: 'first' } }],
  })
  const fault = { name: 'Fault', code: 'upstream_auth_required', details: { reason: 'SecretNotFound' } }
  await assert.rejects(header(upstream, 'x-key'), {
    ...fault,
    message: 'Key first of Secret keys cannot be read',
  })
  secrets.keys = { toString: 'value' }
  await assert.rejects(header(upstream, 'x-key'), {
    ...fault,
    message: 'Key first of Secret keys does not exist',
  })
  secrets.keys = { first: 'there' }
  assert.equal(await header(upstream, 'x-key'), 'there')
})

test("after a 401 the bridge's token is read again, and the request repeated only with another token", async t => {
  const secrets: Secrets = { 'mcp-files': { token: 'good' } }
  let good = 'good'
  const bearer = { name: 'mcp-files', key: 'token' }
  const { upstream, log } = await begin(t, secrets, { bearer }, { accepts: token => token === good })
  assert.equal(await header(upstream, 'authorization'), 'Bearer good')
  good = 'better'
  log.length = 0
  await assert.rejects(header(upstream, 'authorization'), { code: 'upstream_auth_required' })
  assert.equal(log.filter(entry => entry === 'POST tools/call').length, 1)
  secrets['mcp-files'] = { token: 'better' }
  assert.equal(await header(upstream, 'authorization'), 'Bearer better')
})

test('while a bridge does not know the new token, the former one is used', async t => {
  const secrets: Secrets = { 'mcp-files': { token: 'old' } }
  let good = ['old']
  const bearer = { name: 'mcp-files', key: 'token' }
  const accepts = (token: string) => good.includes(token)
  const { upstream } = await begin(t, secrets, { bearer }, { accepts })
  assert.equal(await header(upstream, 'authorization'), 'Bearer old')
  secrets['mcp-files'] = { token: 'new' }
  assert.equal(await header(upstream, 'authorization'), 'Bearer old')
  assert.equal(await header(upstream, 'authorization'), 'Bearer old')
  good = ['old', 'new']
  assert.equal(await header(upstream, 'authorization'), 'Bearer new')
  good = []
  await assert.rejects(header(upstream, 'authorization'), { code: 'upstream_auth_required' })
})

test('the client secret is read from a Secret, and another value requests another token', async t => {
  const oauth = await startOAuthServer()
  t.after(oauth.close)
  const secrets: Secrets = { login: { secret: CLIENT_SECRET } }
  const login = {
    tokenUrl: oauth.tokenUrl,
    clientId: CLIENT_ID,
    clientSecret: { name: 'login', key: 'secret' },
    scopes: [],
  }
  const { upstream } = await begin(t, secrets, { oauth: login }, { accepts: oauth.accepts })
  assert.match(await header(upstream, 'authorization'), /^Bearer /)
  await header(upstream, 'authorization')
  assert.equal(oauth.requests(), 1)
  secrets.login = { secret: 'wrong' }
  await assert.rejects(header(upstream, 'authorization'), { code: 'upstream_auth_required' })
})

test('calls through a gateway use the current token', async t => {
  let token = 'first'
  const server = await startSdk1('stateless', { json: true, accepts: given => given === token })
  t.after(server.close)
  const gateway = { url: new URL(server.url).origin, token: async () => token }
  const upstream = createConnector({ secret: () => undefined, gateway, clock: systemClock })(
    serverOf('files', { endpoint: { kind: 'gateway', revision: '1' } }),
  )
  t.after(() => upstream.close())
  assert.equal(await header(upstream, 'authorization'), 'Bearer first')
  token = 'second'
  assert.equal(await header(upstream, 'authorization'), 'Bearer second')
})

test('an unused session of a client ends after the time that its bridge keeps it, or else after five minutes', async t => {
  const server = await startSdk1('stateful')
  t.after(server.close)
  const endpoint: Endpoint = { kind: 'http', url: server.url, transport: 'streamable-http', revision: '1' }
  const minuteMs = 60_000
  for (const [sessionIdleMs, ms] of [
    [undefined, 5 * minuteMs],
    [30 * minuteMs, 30 * minuteMs],
  ] as const) {
    const clock = createManualClock()
    const connect = createConnector({ secret: () => undefined, clock })
    const upstream = connect(serverOf('files', { endpoint, sessions: 'perClient', sessionIdleMs }))
    t.after(() => upstream.close())
    await upstream.request(callOf({ params: { name: 'count' }, client: 'ann' }), never)
    clock.advance(ms - 1)
    assert.equal(upstream.sessions?.(), 1)
    clock.advance(1)
    assert.equal(upstream.sessions?.(), 0)
  }
})

async function begin(
  t: TestContext,
  secrets: Secrets,
  more: Partial<HttpEndpoint>,
  options: Sdk1Options = {},
) {
  const server = await startSdk1('stateless', { json: true, ...options })
  const endpoint: Endpoint = {
    kind: 'http',
    url: server.url,
    transport: 'streamable-http',
    revision: '1',
    ...more,
  }
  const connector: ConnectorOptions = { secret: name => secrets[name], clock: systemClock }
  const upstream = createConnector(connector)(serverOf('files', { endpoint }))
  t.after(async () => {
    await upstream.close()
    await server.close()
  })
  return { upstream, log: server.log }
}

/** The value of this header that the upstream received. */
async function header(upstream: Upstream, name: string): Promise<string> {
  const params = { name: 'header', arguments: { name } }
  const { result } = await upstream.request(
    callOf({ method: 'tools/call', params, maxBytes: 100_000 }),
    never,
  )
  return (result?.content as { text: string }[])[0]?.text ?? ''
}
