/** What an SSE upstream answers to the POST of a call, and on its stream, in the forms that servers use. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { callOf } from '../../../../test/support/call.ts'
import { type Message, startRude, stream } from '../../../../test/upstreams/http/rude.ts'
import { systemClock } from '../../../async.ts'
import type { Upstream } from '../../upstream.ts'
import { createSseUpstream } from './sse.ts'

const never = new AbortController().signal

function upstreamOf(t: TestContext, server: { url: string; close(): Promise<void> }): Upstream {
  const spec = { url: server.url, transport: 'sse', sessions: 'shared', startTimeoutMs: 5_000 } as const
  const upstream = createSseUpstream(spec, { clock: systemClock })
  t.after(() => Promise.all([upstream.close(), server.close()]))
  return upstream
}

async function call(upstream: Upstream, name: string): Promise<string> {
  const { result } = await upstream.request(callOf({ params: { name } }), never)
  const [content] = result?.content as { text: string }[]
  return content?.text ?? ''
}

/** A server with one stream; `answers` makes the status, the body and the message on the stream of each call. */
function startOneStream(answers: (message: Message) => { status?: number; body?: string; id?: unknown }) {
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
    'tools/call': (response, message) => {
      const { status = 202, body = '', id } = answers(message)
      if (id !== undefined) send({ id, result: { content: [{ type: 'text', text: 'fine' }] } })
      response.writeHead(status, { 'content-type': 'text/plain' }).end(body)
    },
  })
}

test('a request that the upstream rejects with 400 ends no call of others', async t => {
  const held = Promise.withResolvers<void>()
  const server = await startOneStream(({ id, params }) => {
    if (params?.name === 'bad') return { status: 400, body: 'Invalid message' }
    if (params?.name === 'hang') held.resolve()
    return { id: params?.name === 'hang' ? undefined : id }
  })
  const upstream = upstreamOf(t, server)
  const end = new AbortController()
  let over = false
  const hanging = upstream.request(callOf({ params: { name: 'hang' } }), end.signal).finally(() => {
    over = true
  })
  hanging.catch(() => {})
  await held.promise
  await assert.rejects(call(upstream, 'bad'), { code: 'upstream_protocol' })
  assert.equal(await call(upstream, 'any'), 'fine')
  assert.equal(over, false)
  assert.equal(server.log.filter(entry => entry === 'GET').length, 1)
  end.abort()
  await assert.rejects(hanging, { code: 'cancelled' })
})

test('a 400 that names the session means that the upstream has lost it', async t => {
  let calls = 0
  const server = await startOneStream(({ id }) =>
    calls++ === 0 ? { status: 400, body: 'No transport found for sessionId' } : { id },
  )
  assert.equal(await call(upstreamOf(t, server), 'any'), 'fine')
  assert.equal(server.log.filter(entry => entry === 'GET').length, 2)
})

test('an answer whose id comes back as a string reaches its call', async t => {
  const server = await startOneStream(({ id }) => ({ id: `${id}` }))
  assert.equal(await call(upstreamOf(t, server), 'any'), 'fine')
})
