/** The order of scripts and their calls in the log, and what is read from the answers of scripts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConsoleCall } from '../core/console/shapes.ts'
import { withScripts } from './log-order.ts'
import { reportOf, timelineOf } from './script.ts'

const call = (seq: number, more: Partial<ConsoleCall> = {}): ConsoleCall => ({
  ...{ seq, at: seq, method: 'tools/call', outcome: 'ok', totalMs: 1, upstreamMs: 1 },
  ...more,
})

test('the calls of a script are listed below it; those of a script that still runs keep their place', () => {
  const ran = { id: 'a', calls: 2, keptTokens: 0 }
  const newestFirst = [
    call(6, { script: 'b' }),
    call(5),
    call(4, { ran }),
    call(3, { script: 'a' }),
    call(2),
    call(1, { script: 'a' }),
  ]
  assert.deepEqual(
    withScripts(newestFirst).map(({ call: { seq } }) => seq),
    [6, 5, 4, 1, 3, 2],
  )
})

test('the calls of a reviewed script are listed below the call that ran it, even within another script', () => {
  const newestFirst = [
    call(4, { ran: { id: 'outer', calls: 2, keptTokens: 0 } }),
    call(3, { script: 'outer' }),
    call(2, { script: 'outer', ran: { id: 'reviewed', calls: 1, keptTokens: 0 } }),
    call(1, { script: 'reviewed' }),
  ]
  assert.deepEqual(
    withScripts(newestFirst).map(({ call: { seq }, depth }) => [seq, depth]),
    [
      [4, 0],
      [2, 1],
      [1, 2],
      [3, 1],
    ],
  )
})

test('the answer of a failed script names its line, and other texts are not taken for such an answer', () => {
  const text = "TypeError: cannot read property 'title' of undefined\n  line 4, column 28:  return rows.map()"
  const calls = [{ tool: 'kit:echo', outcome: 'ok', atMs: 3, ms: 5 }, { outcome: 'ok' }, 'no']
  const _meta = { 'portolan.dev/script': { id: 'a', calls, sandboxMs: 2, keptTokens: 'many' } }
  assert.deepEqual(reportOf({ isError: true, content: [{ type: 'text', text }], _meta }), {
    ...{
      id: 'a',
      texts: [text],
      failed: true,
      line: 4,
      calls: [calls[0]],
      sandboxMs: 2,
      keptTokens: undefined,
    },
  })
  assert.deepEqual(reportOf({ content: 'x', _meta: 7 }).calls, [])
  assert.equal(reportOf({ content: [{ type: 'text', text: '  line 4:' }] }).line, undefined)
})

test('in the timeline, the calls of a reviewed script follow the call that ran it, within its time', () => {
  const made = (tool: string, atMs: number) => ({ tool, outcome: 'ok', atMs, ms: 10 })
  const calls = [made('kit:echo', 50), made('scripts:two', 5)]
  const _meta = { 'portolan.dev/script': { id: 'outer', calls } }
  const echo = { server: 'kit', tool: 'echo', totalMs: 2 }
  const log = [
    call(3, { script: 'outer', server: 'kit', tool: 'echo', at: 1_060 }),
    call(2, {
      ...{ script: 'outer', server: 'scripts', tool: 'two', at: 1_015, totalMs: 10 },
      ran: { id: 'inner', calls: 1, keptTokens: 0 },
    }),
    call(1, { ...echo, script: 'inner', at: 1_010 }),
  ]
  const lines = timelineOf(reportOf({ content: [], _meta }), log)
  assert.deepEqual(
    lines.map(({ tool, atMs, depth }) => [tool, atMs, depth]),
    [
      ['scripts:two', 5, 0],
      ['kit:echo', 8, 1],
      ['kit:echo', 50, 0],
    ],
  )
  assert.equal(timelineOf(reportOf({ content: [], _meta }), []).length, 2)
})
