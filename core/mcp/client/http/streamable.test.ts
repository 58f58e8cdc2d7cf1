/** Streamable HTTP upstreams against real servers of both SDK lines. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callOf } from '../../../../test/support/call.ts'
import { startSdk1 } from '../../../../test/upstreams/http/sdk1.ts'
import { startSdk2 } from '../../../../test/upstreams/http/sdk2.ts'
import { systemClock } from '../../../async.ts'
import { Fault } from '../../../errors.ts'
import type { Upstream, UpstreamEvent } from '../../upstream.ts'
import type { RemoteSpec } from './spec.ts'
import { createHttpUpstream } from './streamable.ts'

const never = new AbortController().signal

function upstreamOf(url: string, more: Partial<RemoteSpec> = {}): Upstream {
  return createHttpUpstream(
    { url, transport: 'streamable-http', sessions: 'shared', startTimeoutMs: 5_000, ...more },
    { clock: systemClock },
  )
}

async function call(upstream: Upstream, name: string, args: object = {}, client?: string): Promise<string> {
  const params = { name, arguments: { ...args } }
  const answer = await upstream.request(
    callOf({ method: 'tools/call', params, client, maxBytes: 1e6 }),
    never,
  )
  const [content] = answer.result?.content as { text: string }[]
  return content?.text ?? ''
}

for (const mode of ['stateful', 'stateless'] as const)
  for (const json of [false, true])
    test(`a ${mode} server that answers with ${json ? 'JSON' : 'event streams'} is called after one handshake`, async t => {
      const server = await startSdk1(mode, { json })
      const upstream = upstreamOf(server.url)
      t.after(() => Promise.all([upstream.close(), server.close()]))
      const texts = await Promise.all(['a', 'b', 'c'].map(text => call(upstream, 'echo', { text })))
      assert.deepEqual(texts, ['a', 'b', 'c'])
      assert.equal(server.log.filter(entry => entry === 'POST initialize').length, 1)
      const info = await upstream.connect(never)
      assert.equal(info.protocolVersion, '2025-11-25')
      assert.equal(info.instructions, 'A server of SDK 1.x')
      assert.equal(info.serverInfo?.name, 'sdk1')
      const answer = await upstream.request(
        callOf({ method: 'tools/call', params: { name: 'echo', arguments: { text: 'é' } }, maxBytes: 1e6 }),
        never,
      )
      assert.ok(answer.result)
      assert.deepEqual(answer.result._meta, { kept: true })
      assert.deepEqual(JSON.parse(answer.resultText ?? ''), answer.result)
    })

test('a tool of a server of SDK 2.x is called', async t => {
  const server = await startSdk2()
  const upstream = upstreamOf(server.url)
  t.after(() => Promise.all([upstream.close(), server.close()]))
  assert.equal(await call(upstream, 'echo', { text: 'hi' }), 'hi')
})

test('a JSON-RPC error of the upstream is an answer', async t => {
  const server = await startSdk1('stateful')
  const upstream = upstreamOf(server.url)
  t.after(() => Promise.all([upstream.close(), server.close()]))
  const answer = await upstream.request(
    callOf({ method: 'resources/read', params: { uri: 'text://no' }, maxBytes: 1e6 }),
    never,
  )
  assert.equal(answer.error?.code, -32602)
})

test('progress notifications have the progress token of the caller', async t => {
  const server = await startSdk1('stateful')
  const upstream = upstreamOf(server.url)
  t.after(() => Promise.all([upstream.close(), server.close()]))
  const heard: unknown[] = []
  const answer = await upstream.request(
    callOf({
      method: 'tools/call',
      params: { name: 'progress', _meta: { progressToken: 'mine' } },
      maxBytes: 1e6,
      notify: notification => heard.push(notification),
    }),
    never,
  )
  assert.notDeepEqual(answer.result?.content, [{ type: 'text', text: 'mine' }])
  assert.deepEqual(
    heard,
    [1, 2].map(progress => ({
      method: 'notifications/progress',
      params: { progressToken: 'mine', progress, total: 2 },
    })),
  )
})

test('a ping of the upstream in the middle of a call is answered', async t => {
  const server = await startSdk1('stateful')
  const upstream = upstreamOf(server.url)
  t.after(() => Promise.all([upstream.close(), server.close()]))
  assert.equal(await call(upstream, 'ask'), '{}')
})

test('an aborted call ends at once, and the upstream is notified', async t => {
  const server = await startSdk1('stateful')
  const upstream = upstreamOf(server.url)
  t.after(() => Promise.all([upstream.close(), server.close()]))
  const abort = new AbortController()
  const hanging = upstream.request(
    callOf({ method: 'tools/call', params: { name: 'hang' }, maxBytes: 1e6 }),
    abort.signal,
  )
  await server.logged('POST tools/call')
  abort.abort(new Fault('upstream_timeout', 'too slow'))
  await assert.rejects(hanging, { code: 'upstream_timeout', message: 'too slow' })
  await server.logged('POST notifications/cancelled')
})

test('a session that the upstream forgot is opened again, and the call is answered', async t => {
  const server = await startSdk1('stateful')
  const upstream = upstreamOf(server.url)
  t.after(() => Promise.all([upstream.close(), server.close()]))
  assert.equal(await call(upstream, 'count'), '1')
  assert.equal(await call(upstream, 'count'), '2')
  server.forget()
  assert.deepEqual(
    await Promise.all([call(upstream, 'echo', { text: 'a' }), call(upstream, 'echo', { text: 'b' })]),
    ['a', 'b'],
  )
  assert.equal(server.log.filter(entry => entry === 'POST initialize').length, 2)
})

test('with sessions per client, each client has its own session, and all end when the upstream is closed', async t => {
  const server = await startSdk1('stateful')
  const upstream = upstreamOf(server.url, { sessions: 'perClient' })
  t.after(() => Promise.all([upstream.close(), server.close()]))
  const counts = []
  for (const client of ['ann', 'bob', 'ann', undefined, undefined])
    counts.push(await call(upstream, 'count', {}, client))
  assert.deepEqual(counts, ['1', '1', '2', '1', '1'])
  await upstream.close()
  assert.equal(server.log.filter(entry => entry === 'DELETE').length, 4)
})

test('list_changed arrives between calls', async t => {
  const server = await startSdk1('stateful')
  const upstream = upstreamOf(server.url)
  t.after(() => Promise.all([upstream.close(), server.close()]))
  const changed = new Promise<UpstreamEvent>(resolve => {
    upstream.onEvent(event => event.kind === 'listChanged' && resolve(event))
  })
  await upstream.connect(never)
  await server.logged('GET')
  server.addTool('new')
  assert.deepEqual(await changed, { kind: 'listChanged', list: 'tools' })
})

test('an upstream that went away is unreachable, and works again as soon as it is back', async t => {
  const server = await startSdk1('stateful')
  const upstream = upstreamOf(server.url)
  const states: string[] = []
  upstream.onEvent(event => event.kind === 'state' && states.push(event.state))
  t.after(() => upstream.close())
  assert.equal(await call(upstream, 'echo', { text: 'a' }), 'a')
  await server.close()
  await assert.rejects(
    upstream.request(callOf({ method: 'tools/list', maxBytes: 1e6 }), never),
    (fault: Fault) => {
      assert.equal(fault.code, 'upstream_unreachable')
      assert.doesNotMatch(fault.message, /127\.0\.0\.1/)
      return true
    },
  )
  const back = await startSdk1('stateful', { port: server.port })
  t.after(back.close)
  assert.equal(await call(upstream, 'echo', { text: 'c' }), 'c')
  assert.deepEqual(states, ['starting', 'ready', 'failed', 'starting', 'ready'])
})

test('headers are sent with every request; a function of headers is called each time', async t => {
  const server = await startSdk1('stateful')
  let version = 0
  const upstream = upstreamOf(server.url, { headers: async () => ({ 'X-Key': `k${++version}` }) })
  t.after(() => Promise.all([upstream.close(), server.close()]))
  const first = await call(upstream, 'header', { name: 'x-key' })
  const second = await call(upstream, 'header', { name: 'x-key' })
  assert.match(first, /^k\d$/)
  assert.notEqual(first, second)
})

test('closing an upstream ends calls in flight, and later calls are refused', async t => {
  const server = await startSdk1('stateful')
  const upstream = upstreamOf(server.url)
  t.after(server.close)
  const hanging = call(upstream, 'hang')
  await server.logged('POST tools/call')
  await Promise.all([assert.rejects(hanging, Fault), upstream.close(), upstream.close()])
  await assert.rejects(call(upstream, 'echo', { text: 'a' }), { code: 'cancelled' })
})
