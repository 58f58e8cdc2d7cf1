/** The kept result of a caller at one of two replicas: readable by this caller at both, and by nobody else at either. Over HTTP. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createInternalCredentials } from '../../router/access/internal-credential.ts'
import type { Answerer } from '../meta/fixture.ts'
import { freePort } from '../support/free-port.ts'
import { createManualClock } from '../support/manual-clock.ts'
import { BLUE, initialize, NOW, RED, rule, SERVERS, send, start, TOKENS } from './access-router.ts'

const CANARY_OR_TOOL = /canary|vermilion/
const KEY = 'the key of both replicas'
const CANARY = 'canary'
const large: Answerer = () => ({
  result: { content: [{ type: 'text', text: `${CANARY} `.repeat(1_000) }] },
})
const CALL = {
  method: 'tools/call',
  params: { name: 'execute_mcp_tool', arguments: { tool_path: 'vermilion:vermilion_get', arguments: {} } },
}
const RULES = { rules: [rule('all', 'vermilion', { subjects: [] })], auth: { ...TOKENS, anonymous: true } }

const LIMITS = { callTimeoutMs: 60_000, startTimeoutMs: 60_000, concurrency: 16, maxResultBytes: 1_000 }
const SMALL = { vermilion: { ...SERVERS.vermilion, server: { limits: LIMITS } } }

async function twoReplicas(t: TestContext, access: Parameters<typeof start>[1] = RULES) {
  const replica = async () => {
    const options = { port: await freePort(), address: '127.0.0.1', sessionKey: KEY }
    return start(t, access, {}, large, SMALL, options)
  }
  return [await replica(), await replica()] as const
}

const ways = (uri: string) => [
  { method: 'tools/call', params: { name: 'read_mcp_resource', arguments: { uri } } },
  { method: 'tools/call', params: { name: 'execute_mcp_tool', arguments: { tool_path: uri } } },
  { method: 'resources/read', params: { uri } },
]

test('the rest of a result is read by its caller at both replicas, and by another caller at neither', async t => {
  const [first, second] = await twoReplicas(t)
  const { text } = await send(first.origin, CALL, { token: RED })
  const [handle = ''] = /portolan\|result\/[^"\s\\]+/.exec(text) ?? []
  assert.notEqual(handle, '')
  const [, owner, id = ''] = /result\/([^/]+)\/([\w-]+)/.exec(handle) ?? []
  const other = `127_0_0_1:${new URL(second.origin).port}`
  const forged = [
    handle.replace(id, `${id.slice(0, -1)}${id.endsWith('A') ? 'B' : 'A'}`),
    handle.replace(String(owner), other),
    handle.replace(String(owner), '127_0_0_1:9'),
  ]
  for (const { origin } of [first, second]) {
    for (const request of ways(handle)) {
      const own = await send(origin, request, { token: RED })
      assert.match(own.text, /canary canary/, `${origin} ${JSON.stringify(request)}`)
    }
    for (const [at, request] of ways(handle).entries()) {
      const gone = ways(forged[0] as string)[at] as object
      const unknown = await send(origin, gone, { token: BLUE })
      for (const token of [BLUE, undefined]) {
        const foreign = await send(origin, request, { token })
        assert.doesNotMatch(foreign.text, new RegExp(CANARY))
        assert.deepEqual([foreign.status, foreign.text], [unknown.status, unknown.text])
      }
    }
    for (const request of forged.flatMap(ways))
      assert.doesNotMatch((await send(origin, request, { token: RED })).text, new RegExp(CANARY))
  }
})

test("a forged credential of a replica is refused, and does not open another caller's handle", async t => {
  const [first, second] = await twoReplicas(t)
  const { text } = await send(first.origin, CALL, { token: RED })
  const [handle = ''] = /portolan\|result\/[^"\s\\]+/.exec(text) ?? []
  for (const authorization of [
    `Portolan-Replica ${Buffer.from('token:red').toString('base64url')}.zzzzzzzz.`,
    `Portolan-Replica ${Buffer.from('token:red').toString('base64url')}.zzzzzzzz.${'A'.repeat(43)}`,
    `portolan-replica ${BLUE}`,
  ])
    for (const headers of [{ authorization }, { authorization, 'portolan-forwarded': '1' }] as Record<
      string,
      string
    >[])
      for (const request of ways(handle)) {
        const answer = await send(second.origin, request, { headers })
        assert.equal(answer.status, 400)
        assert.doesNotMatch(answer.text, new RegExp(CANARY))
      }
})

test("a replica's credential is for one request: with any other body, path or method it is refused", async t => {
  const [first] = await twoReplicas(t)
  const { text } = await send(first.origin, CALL, { token: RED })
  const [uri = ''] = /portolan\|result\/[^"\s\\]+/.exec(text) ?? []
  const read = { method: 'resources/read', params: { uri } }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...read })
  const credentials = createInternalCredentials(KEY, createManualClock(NOW))
  const authorization = credentials.issue('caller', { method: 'POST', path: '/mcp', body }, 'token:red')
  const headers = { authorization }
  const own = await send(first.origin, read, { headers })
  assert.match(own.text, /canary canary/)
  const reached = first.reached.length
  for (const other of [CALL, { method: 'tools/list' }, { ...read, id: 2 }]) {
    const answer = await send(first.origin, other, { headers })
    assert.deepEqual([answer.status, CANARY_OR_TOOL.test(answer.text)], [400, false], JSON.stringify(other))
  }
  for (const path of ['/mcp/direct', '/servers/vermilion/mcp', '/mcp?a=b'])
    assert.equal((await send(first.origin, read, { headers, path })).status, 400, path)
  for (const method of ['GET', 'DELETE'])
    assert.equal((await fetch(`${first.origin}/mcp`, { method, headers })).status, 400, method)
  assert.equal(first.reached.length, reached)
})

test("a replica's credential is for one purpose: those for other purposes admit nobody and count as no request of a replica", async t => {
  const limit = { per: 'Caller', counts: 'requests', limit: 1, everyMs: 86_400_000, burst: 1 } as const
  const [first] = await twoReplicas(t, { ...RULES, auth: TOKENS, rateLimits: [limit] })
  const ping = { method: 'ping' }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...ping })
  const request = { method: 'POST', path: '/mcp', body }
  const credentials = createInternalCredentials(KEY, createManualClock(NOW))
  for (const purpose of ['forwarded', 'router'] as const) {
    const headers = { authorization: credentials.issue(purpose, request) }
    assert.equal((await send(first.origin, ping, { headers })).status, 400, purpose)
  }
  const statusOf = async (purpose: 'forwarded' | 'caller' | 'router') => {
    const headers = { 'portolan-forwarded': credentials.issue(purpose, request) }
    return (await send(first.origin, ping, { token: RED, headers })).status
  }
  const statuses: number[] = []
  for (const purpose of ['forwarded', 'caller', 'router', 'forwarded'] as const)
    statuses.push(await statusOf(purpose))
  assert.deepEqual(statuses, [200, 200, 429, 200])
})

test('a request that a replica forwards is counted once, by that replica; one that only claims to be forwarded is counted', async t => {
  const quota = { per: 'Caller', counts: 'requests', limit: 4, everyMs: 86_400_000, burst: 4 } as const
  const [first, second] = await twoReplicas(t, { ...RULES, rateLimits: [quota] })
  const { headers } = await send(first.origin, initialize, { token: RED })
  const session = { 'mcp-session-id': headers.get('mcp-session-id') ?? '' }
  const setLevel = { method: 'logging/setLevel', params: { level: 'info' } }
  const ask = async (origin: string, more = {}) =>
    (await send(origin, setLevel, { token: RED, headers: { ...session, ...more } })).status
  const statuses: number[] = []
  for (let times = 0; times < 5; times++) statuses.push(await ask(second.origin))
  assert.deepEqual(statuses, [200, 200, 200, 200, 429])
  const claims: number[] = []
  for (let times = 0; times < 4; times++)
    claims.push(
      await ask(first.origin, { 'portolan-forwarded': times < 2 ? '1' : 'Portolan-Replica a.b.c.d' }),
    )
  assert.deepEqual(claims, [200, 200, 400, 429])
})
