/** Upstreams over the old SSE transport against a real server of SDK 1.x. */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { callOf } from '../../../../test/support/call.ts'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { type Behaviour, flood, hang, raw, startRude, stream } from '../../../../test/upstreams/http/rude.ts'
import { type Sdk1Server, startSdk1 } from '../../../../test/upstreams/http/sdk1.ts'
import { type Clock, systemClock } from '../../../async.ts'
import { Fault } from '../../../errors.ts'
import type { Upstream, UpstreamEvent } from '../../upstream.ts'
import type { RemoteSpec } from './spec.ts'
import { createSseUpstream } from './sse.ts'

const never = new AbortController().signal

type Test = { after(run: () => Promise<unknown>): void }

function upstreamOf(
  t: Test,
  server: { url: string; close(): Promise<void> },
  more: Partial<RemoteSpec> = {},
  clock: Clock = systemClock,
): Upstream {
  const spec = {
    url: server.url,
    transport: 'sse',
    sessions: 'shared',
    startTimeoutMs: 5_000,
    ...more,
  } as const
  const upstream = createSseUpstream(spec, { clock })
  t.after(() => Promise.all([upstream.close(), server.close()]))
  return upstream
}

async function started(
  t: Test,
  more: Partial<RemoteSpec> = {},
): Promise<{ server: Sdk1Server; upstream: Upstream }> {
  const server = await startSdk1('sse')
  return { server, upstream: upstreamOf(t, server, more) }
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

test('many calls share one stream, and results keep all their fields', async t => {
  const { server, upstream } = await started(t)
  const texts = await Promise.all(['a', 'b', 'c'].map(text => call(upstream, 'echo', { text })))
  assert.deepEqual(texts, ['a', 'b', 'c'])
  assert.equal(server.log.filter(entry => entry === 'GET').length, 1)
  const answer = await upstream.request(
    callOf({ method: 'tools/call', params: { name: 'count' }, maxBytes: 1e6 }),
    never,
  )
  assert.deepEqual(answer.result?._meta, { kept: true })
})

test('headers reach the upstream with the stream and with every message', async t => {
  const { upstream } = await started(t, { headers: { 'X-Key': 'k' } })
  assert.equal(await call(upstream, 'header', { name: 'x-key' }), 'k')
})

test('headers and arguments of a call reach the upstream unchanged with its message', async t => {
  const sent: unknown[] = []
  const server = await startRude({
    GET: stream(response => {
      streamed = response
      response.write('event: endpoint\ndata: /messages?a=b\n\n')
    }),
    initialize: (response, { id }) => {
      const result = { protocolVersion: '2024-11-05', capabilities: {} }
      response.writeHead(202).end()
      streamed?.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`)
    },
    'tools/call': (response, { id }, { url, headers }) => {
      sent.push(url, headers.traceparent, headers['content-length'])
      response.writeHead(202).end()
      streamed?.write(`data: {"jsonrpc":"2.0","id":${id},"result":{"n":12345678901234567890}}\n\n`)
    },
  })
  let streamed: ServerResponse | undefined
  const argumentsText = '{"n":12345678901234567890}'
  const params = { name: 'any', arguments: {} }
  const headers = { traceparent: '00-1' }
  const call = { method: 'tools/call', params, argumentsText, headers, maxBytes: 1e6 }
  const answer = await upstreamOf(t, server).request(callOf(call), never)
  const body = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"any","arguments":${argumentsText}}}`
  assert.deepEqual(sent, ['/messages?a=b', '00-1', String(body.length)])
  assert.equal(answer.result && answer.resultText, '{"n":12345678901234567890}')
})

test('progress reaches its call among several', async t => {
  const { upstream } = await started(t)
  const heard: unknown[] = []
  const progress = (token: string) =>
    upstream.request(
      callOf({
        method: 'tools/call',
        params: { name: 'progress', _meta: { progressToken: token } },
        maxBytes: 1e6,
        notify: ({ params }) => heard.push(`${token} ${params?.progressToken} ${params?.progress}`),
      }),
      never,
    )
  await Promise.all([progress('same'), progress('other')])
  assert.deepEqual(heard.sort(), ['other other 1', 'other other 2', 'same same 1', 'same same 2'])
})

test('a ping of the upstream is answered', async t => {
  const { upstream } = await started(t)
  assert.equal(await call(upstream, 'ask'), '{}')
})

test('an aborted call ends at once, and the upstream is notified', async t => {
  const { server, upstream } = await started(t)
  const abort = new AbortController()
  const hanging = upstream.request(
    callOf({ method: 'tools/call', params: { name: 'hang' }, maxBytes: 1e6 }),
    abort.signal,
  )
  await server.logged('POST tools/call')
  abort.abort()
  await assert.rejects(hanging, { code: 'cancelled' })
  await server.logged('POST notifications/cancelled')
})

test('calls in flight end when the stream breaks, and the next call opens a new one', async t => {
  const { server, upstream } = await started(t)
  const events: UpstreamEvent[] = []
  upstream.onEvent(event => events.push(event))
  const hanging = [call(upstream, 'hang'), call(upstream, 'hang')]
  await server.logged('POST tools/call')
  server.breakStreams()
  for (const each of hanging) await assert.rejects(each, { code: 'upstream_died' })
  assert.equal(await call(upstream, 'echo', { text: 'again' }), 'again')
  assert.ok(events.some(event => event.kind === 'listChanged'))
})

test('a session that the upstream forgot is opened again', async t => {
  const { server, upstream } = await started(t)
  assert.equal(await call(upstream, 'count'), '1')
  server.forget()
  assert.equal(await call(upstream, 'count'), '1')
})

test('with sessions per client, each client has its own stream', async t => {
  const { upstream } = await started(t, { sessions: 'perClient' })
  const counts = []
  for (const client of ['ann', 'bob', 'ann', undefined])
    counts.push(await call(upstream, 'count', {}, client))
  assert.deepEqual(counts, ['1', '1', '2', '1'])
})

test('list_changed arrives between calls', async t => {
  const { server, upstream } = await started(t)
  const changed = new Promise<UpstreamEvent>(resolve => {
    upstream.onEvent(event => event.kind === 'listChanged' && resolve(event))
  })
  await upstream.connect(never)
  server.addTool('new')
  assert.deepEqual(await changed, { kind: 'listChanged', list: 'tools' })
})

test('an answer over the limit of its call is refused, and other calls continue', async t => {
  const { upstream } = await started(t)
  const big = { method: 'tools/call', params: { name: 'echo', arguments: { text: 'x'.repeat(2_000) } } }
  await assert.rejects(upstream.request(callOf({ ...big, maxBytes: 1_000 }), never), {
    code: 'upstream_too_large',
  })
  assert.equal(await call(upstream, 'echo', { text: 'small' }), 'small')
})

test('redirects on the same origin are followed, and the path for messages is relative to their target', async t => {
  const moved: Behaviour = (response, message, request) =>
    request.url === '/mcp'
      ? void response.writeHead(307, { location: '/mcp/' }).end()
      : stream(() => response.write('event: endpoint\ndata: messages\n\n'))(response, message, request)
  let posted: string | undefined
  const initialize: Behaviour = (_response, _message, request) => {
    posted = request.url
  }
  const server = await startRude({ GET: moved, initialize })
  const connecting = upstreamOf(t, server).connect(never)
  await server.logged('POST initialize')
  assert.deepEqual(server.log, ['GET', 'GET', 'POST initialize'])
  assert.equal(posted, '/mcp/messages')
  await server.close()
  await assert.rejects(connecting, Fault)
})

const broken: [string, Record<string, Behaviour>, Fault['code']][] = [
  ['wants credentials', { GET: raw(401, 'text/plain', '') }, 'upstream_auth_required'],
  ['is no SSE server', { GET: raw(405, 'text/plain', '') }, 'upstream_protocol'],
  ['answers with a page', { GET: raw(200, 'text/html', '<h1>Hi</h1>') }, 'upstream_protocol'],
  ['fails', { GET: raw(503, 'text/plain', '') }, 'upstream_unreachable'],
  ['ends the stream at once', { GET: stream(response => response.end()) }, 'upstream_died'],
  [
    'floods the stream',
    {
      GET: stream(response => {
        response.write('event: endpoint\ndata: /messages\n\n')
        flood(response, `data: ${'x'.repeat(65_000)}\n`)
      }),
      initialize: hang,
    },
    'upstream_too_large',
  ],
  [
    'sends us to another host',
    { GET: stream(response => response.write('event: endpoint\ndata: http://localhost:1/messages\n\n')) },
    'upstream_protocol',
  ],
]

for (const [title, behaviours, code] of broken)
  test(`an upstream that ${title} is a fault ${code}`, async t => {
    const upstream = upstreamOf(t, await startRude(behaviours))
    await assert.rejects(upstream.connect(never), (fault: Fault) => {
      assert.ok(fault instanceof Fault, String(fault))
      assert.equal(fault.code, code)
      assert.doesNotMatch(fault.message, /127\.0\.0\.1|localhost/)
      return true
    })
  })

test('an upstream on a closed port is unreachable', async t => {
  const server = await startRude({})
  await server.close()
  await assert.rejects(upstreamOf(t, server).connect(never), { code: 'upstream_unreachable' })
})

test('an upstream that never answers POSTs does not keep connections open', async t => {
  const clock = createManualClock()
  const closed: Promise<void>[] = []
  let send = (_message: object): void => {}
  const server = await startRude({
    GET: stream(response => {
      send = message => response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
      response.write('event: endpoint\ndata: /messages\n\n')
    }),
    initialize: (response, { id }) => {
      send({ id, result: { protocolVersion: '2024-11-05', capabilities: {} } })
      response.writeHead(202).end()
    },
    'tools/call': (response, { id }) => {
      closed.push(new Promise(resolve => response.on('close', resolve)))
      send({ id, result: { content: [] } })
    },
  })
  const upstream = upstreamOf(t, server, {}, clock)
  for (let calls = 0; calls < 3; calls++)
    await upstream.request(callOf({ method: 'tools/call', params: { name: 'any' }, maxBytes: 1e6 }), never)
  clock.advance(2_000)
  assert.equal((await Promise.all(closed)).length, 3)
})
