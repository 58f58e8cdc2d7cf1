/** Spans as a collector receives them, and the behaviour without a working collector. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { createManualClock } from '../test/support/manual-clock.ts'
import { startCollector } from '../test/support/otlp.ts'
import { createLog } from './log.ts'
import { createOtlpTracing } from './trace-otlp.ts'
import { openTracing, type Tracing, tracingSettings } from './tracing.ts'

const silent = createLog({ level: 'silent' })
const parent = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'vendor=1',
}
const start = (name: string) => ({ name, kind: 'internal' as const })

async function tracing(env: Record<string, string>, log = silent): Promise<Tracing> {
  return (await openTracing(tracingSettings(env), 'portolan-test', log)) as Tracing
}

test('spans arrive under their parents, with kind, attributes, error and resource', async t => {
  const collector = await startCollector()
  t.after(collector.close)
  const { tracer, close } = await tracing({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint })
  const call = tracer.begin({ name: 'tools/call', kind: 'server', attributes: { a: 'x', b: 2 } }, parent)
  const sent = call.begin({ name: 'tools/call echo', kind: 'client', attributes: { none: undefined } })
  sent.end('upstream_timeout')
  call.rename('tools/call demo:echo')
  call.set({ c: 'y' })
  call.end()
  tracer.begin(start('root')).end()
  await close()
  const [client, server, root] = collector.spans
  assert.deepEqual(collector.paths, ['/v1/traces'])
  assert.equal(server?.name, 'tools/call demo:echo')
  assert.deepEqual(server?.attributes, { a: 'x', b: 2, c: 'y' })
  assert.equal(server?.kind, 'server')
  assert.equal(server?.traceId, '0af7651916cd43dd8448eb211c80319c')
  assert.equal(server?.parentSpanId, 'b7ad6b7169203331')
  assert.equal(server?.traceState, 'vendor=1')
  assert.equal(server?.error, false)
  assert.equal(server?.resource['service.name'], 'portolan-test')
  assert.equal(client?.kind, 'client')
  assert.equal(client?.parentSpanId, server?.spanId)
  assert.equal(client?.traceId, server?.traceId)
  assert.deepEqual(client?.attributes, { 'error.type': 'upstream_timeout' })
  assert.equal(client?.error, true)
  assert.equal(root?.parentSpanId, '')
  assert.notEqual(root?.traceId, server?.traceId)
})

test('the context of a span names it as the parent', async t => {
  const collector = await startCollector()
  t.after(collector.close)
  const { tracer, close } = await tracing({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint })
  const span = tracer.begin(start('one'), parent)
  const { traceparent, tracestate } = span.context()
  span.end()
  await close()
  assert.equal(traceparent, `00-0af7651916cd43dd8448eb211c80319c-${collector.spans[0]?.spanId}-01`)
  assert.equal(tracestate, 'vendor=1')
  for (const wrong of ['', 'nonsense', '00-0-0-01', `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`])
    assert.match(tracer.begin(start('x'), { traceparent: wrong }).context().traceparent, /^00-.{49}-01$/)
})

test('a span whose parent was not sampled is not sampled either, and its context says so', async t => {
  const collector = await startCollector()
  t.after(collector.close)
  const { tracer, close } = await tracing({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint })
  const span = tracer.begin(start('one'), { traceparent: parent.traceparent.replace(/01$/, '00') })
  const child = span.begin(start('two'))
  child.set({ a: 1 })
  child.end('oops')
  span.end()
  assert.match(child.context().traceparent, /^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-00$/)
  await close()
  assert.deepEqual(collector.spans, [])
})

const RATIOS: [string, string | undefined, boolean][] = [
  ['always_on', undefined, true],
  ['always_off', undefined, false],
  ['traceidratio', '0', false],
  ['traceidratio', '1', true],
  ['parentbased_always_off', undefined, false],
  ['parentbased_traceidratio', '0', false],
]

for (const [sampler, ratio = '', kept] of RATIOS)
  test(`the sampler ${sampler} ${ratio} ${kept ? 'keeps' : 'drops'} a trace that begins here`, async () => {
    const { tracer, close } = await tracing({
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_TRACES_SAMPLER: sampler,
      OTEL_TRACES_SAMPLER_ARG: ratio,
    })
    assert.match(tracer.begin(start('x')).context().traceparent, kept ? /-01$/ : /-00$/)
    await close()
  })

test('an attribute value that is too long is truncated', async t => {
  const collector = await startCollector()
  t.after(collector.close)
  const { tracer, close } = await tracing({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint })
  tracer.begin({ ...start('one'), attributes: { long: 'x'.repeat(1_000) } }).end()
  await close()
  assert.equal(String(collector.spans[0]?.attributes.long).length, 256)
})

test('a collector that rejects spans causes no error and one line in the log', async t => {
  const collector = await startCollector()
  t.after(collector.close)
  const lines = new PassThrough()
  const log = createLog({ level: 'warn', destination: lines })
  const { tracer, close } = await tracing(
    { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.endpoint}/v1/traces`, OTEL_SERVICE_NAME: 'x' },
    log,
  )
  collector.refuse(403)
  // two full batches and a partial one
  for (let count = 0; count < 1_100; count++) tracer.begin(start('lost')).end()
  const [line] = await once(lines, 'data')
  await close()
  const { msg, spans } = JSON.parse(String(line))
  assert.equal(msg, 'traces could not be delivered')
  assert.equal(spans, 512)
  assert.equal(lines.read(), null)
})

test('a collector that hangs delays shutdown by at most three seconds', async t => {
  const collector = await startCollector()
  t.after(collector.close)
  const asked = collector.refuse()
  const clock = createManualClock()
  const url = `${collector.endpoint}/v1/traces`
  const { tracer, close } = createOtlpTracing({
    url,
    sampler: 'always_on',
    ratio: 1,
    service: 'test',
    log: silent,
    clock,
  })
  tracer.begin(start('lost')).end()
  let closed = false
  const closing = close().then(() => {
    closed = true
  })
  clock.advance(2_999)
  await asked
  assert.equal(closed, false)
  clock.advance(1)
  await closing
})

test('calls continue while spans cannot be delivered, and at most a few thousand spans wait', async t => {
  const collector = await startCollector()
  t.after(collector.close)
  const { tracer, close } = createOtlpTracing({
    url: `${collector.endpoint}/v1/traces`,
    sampler: 'always_on',
    ratio: 1,
    service: 'test',
    log: silent,
    // With this clock, closing never reaches its time limit.
    clock: createManualClock(),
  })
  for (let count = 0; count < 10_000; count++) tracer.begin(start('many')).end()
  await close()
  assert.ok(collector.spans.length >= 4_096, String(collector.spans.length))
  assert.ok(collector.spans.length <= 4_096 + 512, String(collector.spans.length))
})
