/** Upstreams of endpoints that refer to Secrets: called with the values of the moment, and a clear fault without them. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { serverOf } from '../../../test/meta/fixture.ts'
import { callOf } from '../../../test/support/call.ts'
import { CLIENT_ID, CLIENT_SECRET, startOAuthServer } from '../../../test/upstreams/http/oauth-server.ts'
import { type Sdk1Options, startSdk1 } from '../../../test/upstreams/http/sdk1.ts'
import { systemClock } from '../../async.ts'
import type { Endpoint } from '../../catalog/router-config.ts'
import type { Upstream } from '../upstream.ts'
import { type ConnectorOptions, createConnector } from './connector.ts'

type HttpEndpoint = Extract<Endpoint, { kind: 'http' }>
type Secrets = Record<string, Record<string, string>>

const never = new AbortController().signal

test('headers carry values and keys of Secrets as they are at each request', async t => {
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
})

test('a Secret or key that is not there is a fault that names it, until it is there', async t => {
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

test('the bearer of a bridge is read anew where it is refused, and asked once more only with another one', async t => {
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

test('client credentials take their secret from a Secret, and another secret asks for another token', async t => {
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

test('behind a gateway a server is called with the token of the moment', async t => {
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

/** What the upstream was sent as this header. */
async function header(upstream: Upstream, name: string): Promise<string> {
  const params = { name: 'header', arguments: { name } }
  const { result } = await upstream.request(
    callOf({ method: 'tools/call', params, maxBytes: 100_000 }),
    never,
  )
  return (result?.content as { text: string }[])[0]?.text ?? ''
}
