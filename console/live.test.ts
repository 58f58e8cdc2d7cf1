/** What events make of what the page knows. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Known, learn, NOTHING } from './live.ts'
import { createEventReader } from './sse.ts'

const call = (seq: number) => ({
  seq,
  at: seq,
  method: 'tools/call',
  outcome: 'ok',
  totalMs: 1,
  upstreamMs: 1,
})
const told = (known: Known, event: string, data: unknown) => learn(known, event, JSON.stringify(data))

test('calls that were known already are not repeated after the stream was cut', () => {
  const first = told(NOTHING, 'calls', { run: 'a', calls: [call(1), call(2)], notShown: 3 })
  const again = told(first, 'calls', { run: 'a', calls: [call(1), call(2), call(3)], notShown: 0 })
  assert.deepEqual(
    again.calls.map(({ seq }) => seq),
    [3, 2, 1],
  )
  assert.equal(again.notShown, 3)
})

test('a gateway that was started again begins its log anew', () => {
  const first = told(NOTHING, 'calls', { run: 'a', calls: [call(7)], notShown: 1 })
  const next = told(first, 'calls', { run: 'b', calls: [call(1)], notShown: 0 })
  assert.deepEqual(
    next.calls.map(({ seq }) => seq),
    [1],
  )
  assert.equal(next.notShown, 0)
})

test('the log is bounded', () => {
  const calls = Array.from({ length: 3_000 }, (_none, at) => call(at + 1))
  const { calls: kept } = told(NOTHING, 'calls', { run: 'a', calls, notShown: 0 })
  assert.equal(kept.length, 1_000)
  assert.equal(kept[0]?.seq, 3_000)
})

test('servers that changed replace what was known of them, and those that are gone go', () => {
  const first = told(NOTHING, 'servers', { whole: true, changed: [{ name: 'a' }, { name: 'b' }], gone: [] })
  const next = told(first, 'servers', { whole: false, changed: [{ name: 'b', tools: 2 }], gone: ['a'] })
  assert.deepEqual([...next.servers.values()], [{ name: 'b', tools: 2 }])
})

test('events of a newer gateway change nothing', () => {
  assert.equal(learn(NOTHING, 'weather', '{"sunny":true}'), NOTHING)
})

test('events are read in whatever pieces they arrive', () => {
  const text = 'id: 1\nevent: state\ndata: {"a":"b: c"}\n\n:\n\nid: 2\nevent: calls\ndata: {}\n\n'
  const whole = createEventReader()(text)
  const read = createEventReader()
  assert.deepEqual([...text].flatMap(read), whole)
  assert.deepEqual(whole, [
    { id: '1', event: 'state', data: '{"a":"b: c"}' },
    { id: '2', event: 'calls', data: '{}' },
  ])
})
