/** A manifest cannot make a cluster's processes send requests to addresses that are not allowed, wherever it names them. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { callOf } from '../../../test/support/call.ts'
import { CLIENT_ID, CLIENT_SECRET, startOAuthServer } from '../../../test/upstreams/http/oauth-server.ts'
import { startSdk1 } from '../../../test/upstreams/http/sdk1.ts'
import { type Served, serve } from '../../../test/upstreams/http/serve.ts'
import { systemClock } from '../../async.ts'
import type { Fault } from '../../errors.ts'
import { connectRemote } from './connect.ts'
import { createTokenSource } from './http/oauth.ts'
import { createRemoteGuard, type RemoteRules } from './remote-guard.ts'

const never = new AbortController().signal
const PROTECTED_RESOURCE = '/.well-known/oauth-protected-resource/mcp'
const request = { method: 'tools/call', params: { name: 'count' }, maxBytes: 1e6 } as const
const guardOf = (rules: Partial<RemoteRules>) =>
  createRemoteGuard({ remoteHosts: [], refusedAddresses: [], ...rules })
/** Shown to agents and in the status: contains no address, and is the same whether or not a server listens there. */
const REFUSED = {
  code: 'upstream_unreachable',
  message: 'The upstream has an address that is not allowed in this cluster',
}

for (const transport of ['streamable-http', 'sse'] as const)
  for (const host of ['127.0.0.1', 'localhost'])
    test(`a remote server over ${transport} at ${host} is not sent anything unless it is allowed`, async t => {
      const server = await startSdk1(transport === 'sse' ? 'sse' : 'stateful')
      t.after(() => server.close())
      const at = { url: server.url.replace('127.0.0.1', host), transport }
      const ask = async (rules: Partial<RemoteRules>) => {
        const spec = { ...at, sessions: 'shared', startTimeoutMs: 5_000 } as const
        const upstream = connectRemote(spec, { clock: systemClock, guard: guardOf(rules) })
        t.after(() => upstream.close())
        return upstream.request(callOf(request), never)
      }
      await assert.rejects(ask({}), REFUSED)
      await assert.rejects(ask({ remoteHosts: ['*', '*.example.com'] }), REFUSED)
      assert.ok((await ask({ remoteHosts: [host] })).result)
    })

test('a token endpoint is not sent the client secret unless its host is allowed', async t => {
  const oauth = await startOAuthServer()
  t.after(() => oauth.close())
  const token = (rules: Partial<RemoteRules>) =>
    tokenOf({
      tokenUrl: oauth.tokenUrl.replace('127.0.0.1', 'localhost'),
      rules,
      url: 'http://127.0.0.1:1/mcp',
    })
  await assert.rejects(token({ remoteHosts: ['127.0.0.1'] }), REFUSED)
  assert.equal(oauth.requests(), 0)
  assert.ok(await token({ remoteHosts: ['localhost'] }))
})

test('an authorization server that an upstream names is not asked unless its host is allowed', async t => {
  const inside = await counted(t)
  const upstream = await serve((request, response) => {
    const page = {
      resource: 'http://127.0.0.1',
      authorization_servers: [inside.origin.replace('127.0.0.1', 'localhost')],
    }
    response.writeHead(request.url === PROTECTED_RESOURCE ? 200 : 401, { 'content-type': 'application/json' })
    response.end(JSON.stringify(page))
  })
  t.after(upstream.close)
  const ask = (...remoteHosts: string[]) => tokenOf({ rules: { remoteHosts }, url: `${upstream.origin}/mcp` })
  await assert.rejects(ask('127.0.0.1'), (fault: Fault) => fault.name === 'Fault')
  assert.equal(inside.requests, 0)
  await assert.rejects(ask('127.0.0.1', 'localhost'), (fault: Fault) => fault.name === 'Fault')
  assert.ok(inside.requests > 0)
})

function tokenOf({ tokenUrl, rules, url }: { tokenUrl?: string; rules: Partial<RemoteRules>; url: string }) {
  const client = { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET, tokenUrl, guard: guardOf(rules) }
  const upstream = { url, transport: 'streamable-http' } as const
  return createTokenSource({ ...client, upstream }, systemClock).token(never)
}

async function counted(t: TestContext): Promise<Served & { requests: number }> {
  const seen = { requests: 0 }
  const served = await serve((_request, response) => {
    seen.requests++
    response.end('{}')
  })
  t.after(served.close)
  return Object.assign(seen, served)
}
