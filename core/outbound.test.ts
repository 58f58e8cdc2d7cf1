/** Remote servers behind a real HTTP proxy: what it is asked for, TLS through it, refusals, and addresses that are not allowed. */
import assert from 'node:assert/strict'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { hostname } from 'node:os'
import { type TestContext, test } from 'node:test'
import { callOf } from '../test/support/call.ts'
import { type RecordingProxy, startProxy } from '../test/support/proxy.ts'
import { startSdk1 } from '../test/upstreams/http/sdk1.ts'
import { systemClock } from './async.ts'
import type { HostGuard } from './host-guard.ts'
import { connectRemote } from './mcp/client/connect.ts'
import { createRemoteGuard } from './mcp/client/remote-guard.ts'
import { createOutbound } from './outbound.ts'
import { readProxies } from './proxies.ts'

const never = new AbortController().signal
const request = { method: 'tools/call', params: { name: 'count' }, maxBytes: 1e6 } as const

type Asked = { url: string; env?: (proxy: RecordingProxy) => Record<string, string>; refused?: string[] }

/** Calls a tool of a server that only the proxy can reach, as in a cluster. */
async function ask(t: TestContext, { url, env, refused = [] }: Asked, credentials?: string) {
  const server = await startSdk1('stateful')
  const proxy = await startProxy(Number(new URL(server.url).port), credentials)
  t.after(() => Promise.all([server.close(), proxy.close()]))
  const proxyFor = readProxies(env?.(proxy) ?? { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url })
  const guard = createRemoteGuard({ remoteHosts: [], refusedAddresses: refused, proxyFor })
  const spec = { url, transport: 'streamable-http', sessions: 'shared', startTimeoutMs: 5_000 } as const
  const upstream = connectRemote(spec, { clock: systemClock, guard })
  t.after(() => upstream.close())
  return { proxy, answer: upstream.request(callOf(request), never) }
}

test('a remote server is called through the proxy, by its name and over one tunnel', async t => {
  const { proxy, answer } = await ask(t, { url: 'http://mcp.example.test/mcp' })
  assert.ok((await answer).result)
  assert.deepEqual(proxy.connects[0], { to: 'mcp.example.test:80', authorization: undefined })
  assert.ok(proxy.connects.length <= 2, `${proxy.connects.length} tunnels: one for calls, one for the stream`)
})

test('the proxy gets the credentials; the error for wrong ones says so and names no address', async t => {
  const withCredentials = (proxy: RecordingProxy) => ({
    HTTP_PROXY: proxy.url.replace('//', '//ann:geheim@'),
  })
  const good = await ask(t, { url: 'http://mcp.example.test/mcp', env: withCredentials }, 'ann:geheim')
  assert.ok((await good.answer).result)
  const bad = await ask(t, { url: 'http://mcp.example.test/mcp', env: withCredentials }, 'ann:anders')
  await assert.rejects(bad.answer, {
    code: 'upstream_unreachable',
    message: 'The HTTP proxy refuses to connect without valid credentials (407)',
  })
})

test('TLS is spoken with the server, not with the proxy', async t => {
  // The server behind the tunnel speaks no TLS: the handshake reaches it, and fails there.
  const { proxy, answer } = await ask(t, { url: 'https://mcp.example.test/mcp' })
  await assert.rejects(answer, { name: 'Fault' })
  assert.equal(proxy.connects[0]?.to, 'mcp.example.test:443')
})

test('an unreachable proxy is named as the cause', async t => {
  const env = () => ({ HTTP_PROXY: 'http://127.0.0.1:1' })
  const { answer } = await ask(t, { url: 'http://mcp.example.test/mcp', env })
  await assert.rejects(answer, {
    code: 'upstream_unreachable',
    message: 'The HTTP proxy cannot be reached (ECONNREFUSED)',
  })
})

test('the proxy is not asked for addresses that are not allowed, given or resolved', async t => {
  const { address } = await lookup(hostname())
  const refused = [address]
  for (const url of ['http://169.254.169.254/mcp', `http://${hostname()}/mcp`, 'http://localhost:1/mcp']) {
    const { proxy, answer } = await ask(t, { url, refused })
    await assert.rejects(answer, {
      message: 'The upstream has an address that is not allowed in this cluster',
    })
    assert.deepEqual(proxy.connects, [], url)
  }
})

test('a proxy that does not answer in time is reported as such', async t => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const origin = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
  t.after(() => silent.close())
  const guard: HostGuard = { check: () => {}, proxyFor: () => ({ origin }) }
  const outbound = createOutbound({ timeoutMs: 50, guard })
  const target = { hostname: 'mcp.example.test', protocol: 'http:', port: '80' }
  const error = await new Promise<Error | null>(resolve =>
    outbound(target, (...[failure]) => resolve(failure)),
  )
  assert.equal(error?.message, 'The HTTP proxy cannot be reached (timeout)')
})
