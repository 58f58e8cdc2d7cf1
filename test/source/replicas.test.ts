/** Two replicas of a router: a client keeps its session at a server, whichever replica gets its requests. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../core/async.ts'
import { createLog } from '../../core/log.ts'
import { createConnector } from '../../core/mcp/client/connector.ts'
import { originOf, ownerAt } from '../../router/http/owner.ts'
import { startRouter } from '../../router/router.ts'
import { createInProcessSource } from '../../router/source/in-process-source.ts'
import { snapshotOf } from '../meta/fixture.ts'
import { freePort } from '../support/free-port.ts'
import { MCP_HEADERS, requestBody } from '../support/mcp.ts'
import { until } from '../support/until.ts'
import { startSdk1 } from '../upstreams/http/sdk1.ts'

test('a client keeps its upstream session when it uses another replica, until the replica that owns the session ends', async t => {
  const { first, second, upstream } = await startReplicas(t)
  const session = await initialize(first.url)
  const other = await initialize(second.url)
  assert.equal(await count(first.url, session), '1')
  assert.equal(await count(second.url, session), '2')
  assert.equal(await count(first.url, other), '1')
  assert.equal(await count(first.url, session), '3')
  assert.equal(upstream.log.filter(entry => entry === 'POST initialize').length, 2)
  await first.close(0)
  assert.equal(await count(second.url, session), '1')
  assert.equal(await count(second.url, session), '2')
  assert.equal(await count(second.url, other), '2')
})

test('a DELETE at any replica ends the session at its owner, and a forged session id is not forwarded', async t => {
  const { first, second, upstream } = await startReplicas(t)
  const session = await initialize(first.url)
  await count(first.url, session)
  const headers = { 'mcp-session-id': session }
  assert.equal((await fetch(second.url, { method: 'DELETE', headers })).status, 204)
  await upstream.logged('DELETE')
  assert.equal((await post(first.url, requestBody('ping', {}), session)).status, 404)
  const forged = `${ownerAt('127.0.0.1', first.address.port)}.nonce.zzzzzzzzz.forged`
  assert.equal((await post(second.url, requestBody('ping', {}), forged)).status, 404)
})

test('the name of an owner contains no dot and can be converted back to its address', () => {
  for (const [address, origin] of [
    ['10.89.1.5', 'http://10.89.1.5:8080'],
    ['fd00::1:5', 'http://[fd00::1:5]:8080'],
  ] as const) {
    assert.ok(!ownerAt(address, 8080).includes('.'))
    assert.equal(originOf(ownerAt(address, 8080)), origin)
  }
  for (const name of ['local', 'evil_example:80', '10_0_0_1', '10_0_0_1:0', ':80', ''])
    assert.equal(originOf(name), undefined)
})

/** Starts two routers with the same session key, and a server that counts the calls of each session. */
async function startReplicas(t: TestContext) {
  const upstream = await startSdk1('stateful', { json: true })
  const source = createInProcessSource()
  const endpoint = { kind: 'http', url: upstream.url, transport: 'streamable-http', revision: '1' } as const
  const tools = [{ name: 'count', inputSchema: { type: 'object' } }]
  source.publish(
    snapshotOf({ counter: { server: { endpoint, sessions: 'perClient' }, offers: { tools } } }, {}, 1),
  )
  const start = async () => {
    const router = await startRouter({
      source,
      connect: createConnector({ secret: () => undefined, clock: systemClock }),
      host: '127.0.0.1',
      port: await freePort(),
      address: '127.0.0.1',
      sessionKey: 'the key of both',
      log: createLog({ level: 'silent' }),
    })
    t.after(() => router.close(0))
    await until(() => router.catalog())
    return router
  }
  const replicas = { first: await start(), second: await start(), upstream }
  t.after(() => upstream.close())
  return replicas
}

function post(url: string, body: string, session?: string): Promise<Response> {
  const headers = { ...MCP_HEADERS, ...(session === undefined ? {} : { 'mcp-session-id': session }) }
  return fetch(url, { method: 'POST', headers, body })
}

async function initialize(url: string): Promise<string> {
  const clientInfo = { name: 'test', version: '1' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  return (await post(url, requestBody('initialize', params))).headers.get('mcp-session-id') ?? ''
}

async function count(url: string, session: string): Promise<string> {
  const call = { name: 'execute_mcp_tool', arguments: { tool_path: 'counter:count', arguments: {} } }
  const answer = await post(url, requestBody('tools/call', call), session)
  const { result } = (await answer.json()) as { result?: { content: { text: string }[] } }
  return result?.content[0]?.text ?? `status ${answer.status}`
}
