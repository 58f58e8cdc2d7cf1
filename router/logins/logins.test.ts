/** Which kept logins are used, and renewals that another router would do: a refresh token is sent only once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { userNamed } from '../../core/mcp/user.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { until } from '../../test/support/until.ts'
import { serve } from '../../test/upstreams/http/serve.ts'
import type { BrowserLogins } from './browser-logins.ts'
import type { KeptLogin } from './kept-login.ts'
import { Logins } from './logins.ts'

test('a login that was renewed here while a router that does not answer was asked is not renewed again', async t => {
  let renewals = 0
  const mayAnswer = Promise.withResolvers<void>()
  const issuer = await serve(async (_request, response) => {
    await mayAnswer.promise
    const tokens = { access_token: `new ${++renewals}`, token_type: 'Bearer', refresh_token: 'next' }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(tokens))
  })
  t.after(() => issuer.close())
  const metadata = {
    issuer: issuer.origin,
    authorization_endpoint: `${issuer.origin}/authorize`,
    token_endpoint: `${issuer.origin}/token`,
    response_types_supported: ['code'],
  }
  const url = 'http://127.0.0.1:1/mcp'
  let kept: KeptLogin | undefined = {
    ...{ name: 'notes', url, subject: 'issuer#ada', sinceMs: 0, renewedMs: 0 },
    server: { issuer: issuer.origin, metadata },
    client: { client_id: 'portolan' },
    tokens: { access_token: 'old', token_type: 'Bearer', refresh_token: 'first' },
  }
  const store = {
    read: async () => kept,
    write: async (login: KeptLogin) => {
      kept = login
    },
    delete: async () => {
      kept = undefined
    },
  }
  const asked: (() => void)[] = []
  const elsewhere = () => new Promise<undefined>(resolve => asked.push(() => resolve(undefined)))
  const browsers = {} as BrowserLogins // No browser logs in.
  const logins = new Logins({ store, browsers, clock: createManualClock(3_600_000), elsewhere })
  const server = { name: 'notes', upstream: { url, transport: 'streamable-http' as const }, scopes: [] }
  const ada = userNamed('issuer#ada') ?? assert.fail()
  const newest = async () => (await logins.newest(server, ada))?.tokens.access_token

  const first = newest()
  await until(() => asked.length === 1)
  asked[0]?.()
  // While the first renewal runs, the store still has the old token.
  const second = newest()
  await until(() => asked.length === 2)
  mayAnswer.resolve()
  assert.equal(await first, 'new 1')
  asked[1]?.()
  assert.equal(await second, 'new 1')
  assert.equal(renewals, 1)
})

test('a login of another issuer than the manifest names is not used', async () => {
  const [url, issuer] = ['http://127.0.0.1:1/mcp', 'https://login.example.com']
  const metadata = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    response_types_supported: ['code'],
  }
  const kept: KeptLogin = {
    ...{ name: 'notes', url, subject: 'issuer#ada', sinceMs: 0, renewedMs: 0 },
    server: { issuer, metadata },
    client: { client_id: 'portolan' },
    tokens: { access_token: 'old', token_type: 'Bearer' },
  }
  const store = { read: async () => kept, write: async () => {}, delete: async () => {} }
  const logins = new Logins({ store, browsers: {} as BrowserLogins, clock: createManualClock() })
  const server = { name: 'notes', upstream: { url, transport: 'streamable-http' as const }, scopes: [] }
  const at = (issuer: string) =>
    logins.newest({ ...server, issuer }, userNamed('issuer#ada') ?? assert.fail())
  assert.equal(await at(issuer), kept)
  assert.equal(await at('https://other.example.com'), undefined)
})
