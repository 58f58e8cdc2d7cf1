/** How events change what the page knows. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { applyEvent, type Known, NO_DATA } from './live.ts'
import { createEventReader } from './sse.ts'

const call = (seq: number) => ({
  seq,
  at: seq,
  method: 'tools/call',
  outcome: 'ok',
  totalMs: 1,
  upstreamMs: 1,
})
const applied = (known: Known, event: string, data: unknown) => applyEvent(known, event, JSON.stringify(data))

test('known calls are not added twice after the stream was lost', () => {
  const first = applied(NO_DATA, 'calls', { run: 'a', calls: [call(1), call(2)], notShown: 3 })
  const again = applied(first, 'calls', { run: 'a', calls: [call(1), call(2), call(3)], notShown: 0 })
  assert.deepEqual(
    again.calls.map(({ seq }) => seq),
    [3, 2, 1],
  )
  assert.equal(again.notShown, 3)
})

test('the log is emptied when the gateway was restarted', () => {
  const first = applied(NO_DATA, 'calls', { run: 'a', calls: [call(7)], notShown: 1 })
  const next = applied(first, 'calls', { run: 'b', calls: [call(1)], notShown: 0 })
  assert.deepEqual(
    next.calls.map(({ seq }) => seq),
    [1],
  )
  assert.equal(next.notShown, 0)
})

test('the log is bounded', () => {
  const calls = Array.from({ length: 3_000 }, (_none, at) => call(at + 1))
  const { calls: kept } = applied(NO_DATA, 'calls', { run: 'a', calls, notShown: 0 })
  assert.equal(kept.length, 1_000)
  assert.equal(kept[0]?.seq, 3_000)
})

test('changed servers are replaced, and removed ones are removed', () => {
  const first = applied(NO_DATA, 'servers', {
    whole: true,
    changed: [{ name: 'a' }, { name: 'b' }],
    gone: [],
  })
  const next = applied(first, 'servers', { whole: false, changed: [{ name: 'b', tools: 2 }], gone: ['a'] })
  assert.deepEqual([...next.servers.values()], [{ name: 'b', tools: 2 }])
})

test('unknown events of a newer gateway are ignored', () => {
  assert.equal(applyEvent(NO_DATA, 'weather', '{"sunny":true}'), NO_DATA)
})

test('events are read whatever pieces the stream arrives in', () => {
  const text = 'id: 1\nevent: state\ndata: {"a":"b: c"}\n\n:\n\nid: 2\nevent: calls\ndata: {}\n\n'
  const whole = createEventReader()(text)
  const read = createEventReader()
  assert.deepEqual([...text].flatMap(read), whole)
  assert.deepEqual(whole, [
    { id: '1', event: 'state', data: '{"a":"b: c"}' },
    { id: '2', event: 'calls', data: '{}' },
  ])
})
