/** A gateway's servers at its admin port, which only callers with a valid token may use. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, type RequestOptions, request } from 'node:http'
import { type TestContext, test } from 'node:test'
import { createLog } from '../../core/log.ts'
import { ANONYMOUS } from '../../core/mcp/identity.ts'
import { startRouter } from '../../router/router.ts'
import { createInProcessSource } from '../../router/source/in-process-source.ts'
import { legacy, post } from '../front/post.ts'
import { echo, snapshotOf, upstreamOf } from '../meta/fixture.ts'
import { SERVERS } from '../meta/servers.ts'
import { until } from '../support/until.ts'

test('servers at the admin port need a valid token; /debug/users needs none, but refuses web pages', async t => {
  const origin = await startAdmin(t)
  const url = `${origin}/servers/forge/mcp`
  const good = { authorization: 'Bearer good' }
  assert.equal((await post(url, legacy('ping'), good)).status, 200)
  assert.match((await post(url, legacy('tools/list'), good)).text, /create_issue/)
  assert.equal((await post(`${origin}/servers/nobody/mcp`, legacy('ping'), good)).status, 404)
  const { headers } = await post(url, legacy('initialize', { protocolVersion: '2025-11-25' }), good)
  const session = { ...good, 'mcp-session-id': headers.get('mcp-session-id') ?? '' }
  const stream = await fetch(url, { headers: { ...session, accept: 'text/event-stream' } })
  assert.equal(stream.status, 200)
  await stream.body?.cancel()
  assert.equal((await fetch(url, { method: 'DELETE', headers: session })).status, 204)
  for (const method of ['POST', 'GET', 'DELETE', 'OPTIONS']) {
    const refused = await fetch(url, { method })
    assert.equal(refused.status, 401, method)
    assert.equal(refused.headers.get('www-authenticate'), 'Bearer')
  }
  assert.deepEqual(await (await fetch(`${origin}/debug/users`)).json(), [])
  const end = (headers: Record<string, string>) =>
    fetch(`${origin}/debug/users/forge/nobody`, { method: 'DELETE', headers })
  assert.equal((await end({})).status, 404)
  assert.equal((await end({ origin: 'http://localhost' })).status, 403)
})

test('readers of /events at one address leave streams for other addresses, such as the operator', async t => {
  const origin = await startAdmin(t)
  const others: IncomingMessage[] = []
  for (let count = 0; count < 9; count++) others.push(await openEvents(t, origin, '127.0.0.2'))
  const opened = others.filter(({ statusCode }) => statusCode === 200)
  assert.equal(opened.length, 4)
  assert.equal((await openEvents(t, origin, '127.0.0.1')).statusCode, 200)
  opened[0]?.destroy()
  await until(async () => (await openEvents(t, origin, '127.0.0.2')).statusCode === 200)
})

test('/debug/users is for programs of this machine: not for pages of other sites, nor for what a proxy passes on', async t => {
  const origin = await startAdmin(t)
  const { host } = new URL(origin)
  const statusOf = async (headers: Record<string, string>, localAddress = '127.0.0.1') =>
    (await get(t, `${origin}/debug/users`, { headers, localAddress })).statusCode
  for (const name of [host, host.replace('127.0.0.1', 'localhost'), '[::1]'])
    assert.equal(await statusOf({ host: name }), 200, name)
  assert.equal(await statusOf({ host, origin }), 200)
  // A page whose host name was made to resolve to a forwarded port.
  for (const name of ['rebound.example', `rebound.example:${new URL(origin).port}`, '10.1.2.3'])
    assert.equal(await statusOf({ host: name }), 403, name)
  for (const from of ['http://rebound.example', 'http://localhost:1', 'null'])
    assert.equal(await statusOf({ host, origin: from }), 403, from)
  assert.equal(await statusOf({ host, 'sec-fetch-site': 'cross-site' }), 403)
  // The address from which Istio's proxies connect to the containers of their pod.
  assert.equal(await statusOf({ host }, '127.0.0.6'), 403, 'from 127.0.0.6')
})

/** Requests the stream from an address of this machine. */
async function openEvents(t: TestContext, origin: string, localAddress: string): Promise<IncomingMessage> {
  return get(t, `${origin}/events`, { localAddress })
}

async function get(t: TestContext, url: string, options: RequestOptions): Promise<IncomingMessage> {
  const sent = request(url, { ...options, agent: false }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  t.after(() => response.destroy())
  return response.on('error', () => {}).resume()
}

/** Starts a router and resolves with the origin of its admin port. */
async function startAdmin(t: TestContext): Promise<string> {
  const source = createInProcessSource()
  source.publish(snapshotOf(SERVERS, { exposeServers: false }, 1))
  const router = await startRouter({
    source,
    connect: () => upstreamOf(echo),
    host: '127.0.0.1',
    port: 0,
    log: createLog({ level: 'silent' }),
    admin: {
      host: '127.0.0.1',
      port: 0,
      pod: 'tools-gateway-0',
      gateway: 'tools',
      missing: () => [],
      authenticate: async shown =>
        shown === 'Bearer good' ? ANONYMOUS : { status: 401, reason: 'UnknownToken', message: 'No.' },
    },
  })
  t.after(() => router.close(0))
  await until(() => router.catalog())
  return `http://127.0.0.1:${router.adminAddress?.port}`
}
