/** The issuer in a manifest: users of a router log in to the server nowhere else. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpointOf } from '../../core/catalog/endpoint.ts'
import { type McpServer, mcpServerSchema } from '../../crds/server.ts'
import { callbackUrl, startQuickLoginServer } from '../upstreams/users/quick-login-server.ts'
import { cookieOf, linkOf, startLoginRouter } from './login-router.ts'

test('a router sends users of a server only to the issuer in its manifest', async t => {
  const login = await startQuickLoginServer()
  t.after(() => login.close())
  for (const [issuer, status] of [
    ['https://login.example.com', 502],
    [login.issuer, 200],
  ] as const) {
    const endpoint = endpointOf(manifestWith(login.url, issuer), 'cluster')
    const named = endpoint.kind === 'http' ? endpoint.login : undefined
    const { press, open } = await startLoginRouter(t, { issuer: login.issuer, url: login.url, login: named })
    const begun = await press('notes')
    const known = await open(
      callbackUrl(new URL(begun.headers.get('location') ?? ''), 'ada'),
      cookieOf(begun),
    )
    assert.equal(known.status, status)
    const page = await known.text()
    if (status === 200) assert.equal(linkOf(page).origin, new URL(login.issuer).origin)
    else assert.match(page, /names another authorization server than/)
  }
})

function manifestWith(url: string, issuer: string): McpServer {
  return mcpServerSchema.parse({
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpServer',
    metadata: { name: 'notes' },
    spec: { remote: { url }, sessions: 'perUser', auth: { perUser: { oauth: { issuer } } } },
  })
}
