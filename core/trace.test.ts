/** Trace context as requests carry it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { carrying, contextOf } from './trace.ts'

const inMeta = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const inHeader = '00-11111111111111111111111111111111-2222222222222222-01'
const ours = '00-0af7651916cd43dd8448eb211c80319c-3333333333333333-01'

test('the context in a request takes precedence over that of its headers, and they are not mixed', () => {
  const headers = { traceparent: inHeader, tracestate: 'a=1' }
  assert.deepEqual(contextOf({ _meta: { traceparent: inMeta } }, headers), { traceparent: inMeta })
  assert.deepEqual(contextOf({ _meta: { tracestate: 'b=2' } }, headers), headers)
  assert.deepEqual(contextOf({}, headers), headers)
  assert.equal(contextOf({ _meta: { traceparent: 7 } }), undefined)
  assert.equal(contextOf({}), undefined)
})

test('a traceparent that is too long is ignored, and a tracestate that is too long is left out', () => {
  assert.equal(contextOf({ _meta: { traceparent: '0'.repeat(257) } }), undefined)
  const state = (length: number) =>
    contextOf({ _meta: { traceparent: inMeta, tracestate: 's'.repeat(length) } })?.tracestate
  assert.equal(state(512)?.length, 512)
  assert.equal(state(513), undefined)
})

test('a request carries our span in _meta and headers, and everything else unchanged', () => {
  const params = {
    name: 'echo',
    _meta: { progressToken: 1, traceparent: inMeta, tracestate: 'old=1', baggage: 'user=a' },
  }
  const headers = { 'mcp-param-region': 'eu', baggage: 'user=a', tracestate: 'old=1' }
  assert.deepEqual(carrying({ traceparent: ours }, params, headers), {
    params: { name: 'echo', _meta: { progressToken: 1, traceparent: ours, baggage: 'user=a' } },
    headers: { 'mcp-param-region': 'eu', baggage: 'user=a', traceparent: ours },
  })
  assert.equal(params._meta.traceparent, inMeta)
  assert.deepEqual(carrying({ traceparent: ours, tracestate: 'new=1' }, {}), {
    params: { _meta: { traceparent: ours, tracestate: 'new=1' } },
    headers: { traceparent: ours, tracestate: 'new=1' },
  })
})
