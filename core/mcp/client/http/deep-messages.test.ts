/** Messages nested so deeply that JSON.stringify fails: each is dropped alone, in either direction. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { callOf } from '../../../../test/support/call.ts'
import { answer, type RudeServer, startRude, stream } from '../../../../test/upstreams/http/rude.ts'
import { systemClock } from '../../../async.ts'
import type { JsonObject } from '../../../json.ts'
import type { Notification } from '../../protocol/json-rpc.ts'
import type { Upstream } from '../../upstream.ts'
import { connectRemote } from '../connect.ts'
import type { RemoteSpec } from './spec.ts'

const never = new AbortController().signal
const LEVELS = 100_000
const DEEP = `${'['.repeat(LEVELS)}${']'.repeat(LEVELS)}`
const RESULT = { content: [] }

function upstreamOf(t: TestContext, server: RudeServer, transport: RemoteSpec['transport']): Upstream {
  const spec = { url: server.url, transport, sessions: 'perClient', startTimeoutMs: 5_000 } as const
  const upstream = connectRemote(spec, { clock: systemClock })
  t.after(() => Promise.all([upstream.close(), server.close()]))
  return upstream
}

function call(upstream: Upstream, more: object = {}) {
  return upstream.request(callOf({ params: { name: 'any' }, client: 'ann', ...more }), never)
}

/** A server with one SSE stream that answers calls on it. */
function startSse(): Promise<RudeServer> {
  let send = (_message: object): void => {}
  return startRude({
    GET: stream(response => {
      send = message => response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
      response.write('event: endpoint\ndata: /messages\n\n')
    }),
    initialize: (response, { id }) => {
      send({ id, result: { protocolVersion: '2024-11-05', capabilities: {} } })
      response.writeHead(202).end()
    },
    'tools/call': (response, { id }) => {
      send({ id, result: RESULT })
      response.writeHead(202).end()
    },
  })
}

for (const transport of ['streamable-http', 'sse'] as const)
  test(`over ${transport}, a client’s message that is too deep to send harms nothing`, async t => {
    const server = await (transport === 'sse' ? startSse() : startRude({ 'tools/call': answer(RESULT) }))
    const upstream = upstreamOf(t, server, transport)
    await call(upstream)
    const params = { a: JSON.parse(DEEP) }
    upstream.tell?.('ann', { method: 'x', params })
    await assert.rejects(call(upstream, { params }))
    upstream.tell?.('ann', { method: 'y' })
    await server.logged('POST y')
    assert.deepEqual((await call(upstream)).result, RESULT)
    assert.ok(!server.log.includes('POST x'))
  })

test('deep notifications and questions of an upstream are not passed on', async t => {
  const deep = (message: string) => `data: ${message.replace('DEEP', DEEP)}\n\n`
  const server = await startRude({
    'tools/call': stream((response, { id }) => {
      response.write(deep('{"jsonrpc":"2.0","method":"notifications/message","params":{"data":DEEP}}'))
      response.write(deep('{"jsonrpc":"2.0","id":DEEP,"method":"ping"}'))
      response.write(deep('{"jsonrpc":"2.0","id":"q","method":"roots/list","params":{"a":DEEP}}'))
      response.write('data: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"flat"}}\n\n')
      response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: RESULT })}\n\n`)
    }),
    '': response => void response.writeHead(202).end(),
  })
  const heard: Notification[] = []
  const asked: JsonObject[] = []
  const caller = {
    capabilities: { roots: {} },
    notify: (notification: Notification) => void heard.push(notification),
    ask: async (question: JsonObject) => {
      asked.push(question)
      return { result: { roots: [] } }
    },
  }
  assert.deepEqual((await call(upstreamOf(t, server, 'streamable-http'), caller)).result, RESULT)
  assert.deepEqual(
    heard.map(({ params }) => params),
    [{ data: 'flat' }],
  )
  assert.deepEqual(asked, [])
})
