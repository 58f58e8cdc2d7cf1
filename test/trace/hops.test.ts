/** Traces over two gateways, one behind the other, to servers that return the metadata of the call. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { legacy, modern, modernHeaders, post } from '../front/post.ts'
import { scriptCommand } from '../support/manifests.ts'
import { type Collector, startCollector } from '../support/otlp.ts'
import { spanOf, startTraced } from './gateways.ts'
import { type Mirrored, startMirror } from './mirror.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const AGENT = 'b7ad6b7169203331'
const traceparent = `00-${TRACE}-${AGENT}-01`
const baggage = 'tenant=a'

async function collector(t: TestContext): Promise<Collector> {
  const started = await startCollector()
  t.after(started.close)
  return started
}

async function chain(t: TestContext, received?: Collector) {
  const mirror = await startMirror()
  t.after(mirror.close)
  const near = await startTraced(
    t,
    'near',
    { http: { remote: { url: `${mirror.origin}/mcp` } }, stdio: scriptCommand('test/trace/mirror.mjs') },
    received,
  )
  const far = await startTraced(t, 'far', { near: { remote: { url: near.url } } }, received)
  const end = async () => {
    await far.end()
    await near.end()
  }
  return { near, far, end }
}

/** A call through both gateways: execute_mcp_tool of `far` calls execute_mcp_tool of `near`. */
function through(server: string, meta: JsonObject): JsonObject {
  const inner = { tool_path: `${server}:mirror`, arguments: { secret: 'hush-hush' } }
  const outer = { tool_path: 'near:execute_mcp_tool', arguments: inner }
  return { name: 'execute_mcp_tool', arguments: outer, _meta: meta }
}

function mirrored({ json }: { json: unknown }): Mirrored {
  const { result } = json as { result: { content: { text: string }[] } }
  return JSON.parse(result.content[0]?.text ?? '{}')
}

for (const server of ['http', 'stdio'])
  test(`a call over two gateways is one trace, down to the ${server} server, under the agent's span`, async t => {
    const received = await collector(t)
    const { far, end } = await chain(t, received)
    const answer = mirrored(
      await post(
        far.url,
        legacy('tools/call', through(server, { traceparent, tracestate: 'vendor=1', baggage })),
        { traceparent: '00-11111111111111111111111111111111-2222222222222222-01' },
      ),
    )
    await end()
    const spans = [
      spanOf(received, 'far', 'tools/call near:execute_mcp_tool'),
      spanOf(received, 'far', 'tools/call execute_mcp_tool'),
      spanOf(received, 'near', `tools/call ${server}:mirror`),
      spanOf(received, 'near', 'tools/call mirror'),
    ]
    assert.deepEqual(
      spans.map(({ kind }) => kind),
      ['server', 'client', 'server', 'client'],
    )
    assert.deepEqual(
      spans.map(({ parentSpanId }) => parentSpanId),
      [AGENT, ...spans.slice(0, -1).map(({ spanId }) => spanId)],
    )
    for (const span of spans) {
      assert.equal(span.traceId, TRACE)
      assert.equal(span.traceState, 'vendor=1')
      assert.equal(span.error, false)
    }
    const last = `00-${TRACE}-${spans.at(-1)?.spanId}-01`
    assert.deepEqual([answer._meta?.traceparent, answer._meta?.tracestate], [last, 'vendor=1'])
    assert.equal(answer._meta?.baggage, baggage)
    if (server === 'http') assert.equal(answer.headers.traceparent, last)
  })

test('a 2026-07-28 client can send the trace context in its headers instead of `_meta`', async t => {
  const received = await collector(t)
  const { near, end } = await chain(t, received)
  const args = { tool_path: 'http:mirror', arguments: {} }
  const answer = mirrored(
    await post(near.url, modern('tools/call', { name: 'execute_mcp_tool', arguments: args }), {
      ...modernHeaders('tools/call', 'execute_mcp_tool'),
      traceparent,
      baggage,
    }),
  )
  await end()
  const { parentSpanId, attributes } = spanOf(received, 'near', 'tools/call http:mirror')
  const client = spanOf(received, 'near', 'tools/call mirror')
  assert.equal(parentSpanId, AGENT)
  assert.equal(attributes['portolan.era'], 'modern')
  assert.equal(answer.headers.traceparent, `00-${TRACE}-${client.spanId}-01`)
  assert.equal(answer._meta?.traceparent, answer.headers.traceparent)
  assert.equal(answer.headers.baggage, baggage)
})

test('two gateways without tracing pass on the trace context of an agent unchanged', async t => {
  const { far } = await chain(t)
  const meta = { traceparent, tracestate: 'vendor=1', baggage }
  const answer = mirrored(await post(far.url, legacy('tools/call', through('http', meta)), { traceparent }))
  assert.deepEqual(answer._meta, meta)
  assert.equal(answer.headers.traceparent, traceparent)
})
