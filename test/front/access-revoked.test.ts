/** What happens to open streams and calls when a rule or a credential is withdrawn: over HTTP, against a running router. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { until } from '../support/until.ts'
import { withIssuer } from './access-issuer.ts'
import { BLUE, initialize, modernised, NOW, RED, rule, SERVERS, send, start } from './access-router.ts'
import { readEvents } from './event-reader.ts'

const LIST = { method: 'tools/list', params: {} }
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** A stream of each era for a caller, and a call that waits. */
async function openAll(t: TestContext, origin: string, token: string) {
  const begun = await send(origin, initialize, { token, path: '/mcp/direct' })
  const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
  const stream = await readEvents(t, `${origin}/mcp/direct`, { ...bearer(token), ...session })
  const { message, headers } = modernised({
    method: 'subscriptions/listen',
    params: { notifications: { toolsListChanged: true } },
  })
  const body = { jsonrpc: '2.0', id: 1, ...message } as unknown as JsonObject
  const listening = await readEvents(t, `${origin}/mcp/direct`, { ...bearer(token), ...headers }, body)
  assert.equal((await listening.next())?.method, 'notifications/subscriptions/acknowledged')
  return { stream, listening, session }
}

/** A server that answers once the test releases it. */
function holding() {
  const held: AbortSignal[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  return {
    held,
    release: resolve,
    answer: async (_call: object, signal: AbortSignal) => {
      held.push(signal)
      await promise
      return { result: { content: [{ type: 'text', text: 'done' }] } }
    },
  }
}

test('revoking a token ends its open streams, and no others', async t => {
  const { sign, origin, change, config, auth } = await withIssuer(t)
  const [gone, stays] = [await sign({ sub: 'gone-later', groups: ['dev'] }), await sign({ sub: 'ada' })]
  const [ended, kept] = [await openAll(t, origin, gone), await openAll(t, origin, stays)]
  await change({ ...config, auth: { ...auth, revoked: [{ subject: 'gone-later' }] } }, 2)
  assert.equal(await ended.stream.next(), undefined)
  await assert.rejects(ended.listening.next())
  assert.equal((await send(origin, LIST, { token: gone })).status, 401)
  assert.equal((await send(origin, LIST, { token: stays })).status, 200)
  await change({ ...config, rules: [] }, 3)
  for (const open of [kept.stream, kept.listening])
    assert.equal((await open.next())?.method, 'notifications/tools/list_changed')
})

test('removing a token from its Secret ends its open streams and calls, and no others', async t => {
  const { held, release, answer } = holding()
  const { origin, change, secrets } = await start(t, {}, {}, answer)
  const [red, blue] = [await openAll(t, origin, RED), await openAll(t, origin, BLUE)]
  const call = {
    method: 'tools/call',
    params: { name: 'execute_mcp_tool', arguments: { tool_path: 'vermilion:vermilion_get', arguments: {} } },
  }
  const calls = [RED, BLUE].map(token => send(origin, call, { token }).catch(() => 'broken off'))
  await until(() => held.length >= 2)
  secrets.callers = { blue: BLUE }
  await change({}, 2)
  assert.equal(await red.stream.next(), undefined)
  await assert.rejects(red.listening.next())
  assert.equal(await calls[0], 'broken off')
  await until(() => held.some(({ aborted }) => aborted))
  assert.equal(held.filter(({ aborted }) => aborted).length, 1)
  release()
  assert.notEqual(await calls[1], 'broken off')
  await change({}, 3, { vermilion: SERVERS.vermilion ?? {} })
  for (const open of [blue.stream, blue.listening])
    assert.equal((await open.next())?.method, 'notifications/tools/list_changed')
})

test('streams of both eras end when their token expires, plus the clock skew', async t => {
  const { sign, origin, clock } = await withIssuer(t)
  const token = await sign({ exp: NOW / 1_000 + 60, groups: ['dev'] })
  const { stream, listening } = await openAll(t, origin, token)
  clock.advance(60_000 + 30_000)
  assert.equal(await stream.next(), undefined)
  for (let message = await listening.next(); message; message = await listening.next())
    assert.ok('result' in message)
})

test('only callers whose view changed are notified of changed lists', async t => {
  const rules = [rule('red', 'vermilion'), rule('blue', 'cobalt')]
  const { origin, change } = await start(t, { rules })
  const [red, blue] = [await openAll(t, origin, RED), await openAll(t, origin, BLUE)]
  const less = { allow: ['*'], deny: ['*_delete'], readOnly: false }
  await change({ rules: [rule('red', 'vermilion'), rule('blue', 'cobalt', { tools: less })] }, 2)
  for (const open of [blue.stream, blue.listening])
    assert.equal((await open.next())?.method, 'notifications/tools/list_changed')
  await change({ rules: [rule('red', 'vermilion', { prompts: { allow: [], deny: [] } })] }, 3)
  assert.equal((await red.stream.next())?.method, 'notifications/prompts/list_changed')
})
