/** The calls that the console shows. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SCRIPTS } from '../../core/catalog/router-config.ts'
import { Fault } from '../../core/errors.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { grownBytes, longText } from '../../test/support/memory.ts'
import type { RecordedRequest, ScriptRecord } from '../observer.ts'
import { createCalls, type KeptCall } from './calls.ts'

const numbersOf = (kept: KeptCall[]) => kept.map(({ call }) => call.seq)

function byTool(name: string): RecordedRequest {
  const caller = { identity: { id: 'ada' }, label: { name: 'agent' } }
  return { request: { method: 'tools/call', params: { name }, caller } } as never
}

const FAILED = { method: 'tools/call', outcome: 'rejected', totalMs: 1, upstreamMs: 0, log: true } as const

test('the last thousand calls are kept, oldest first, and found by their numbers', () => {
  const calls = createCalls(createManualClock(5))
  assert.deepEqual(calls.after(0), [])
  const search = () => calls.searched(1, 3, byTool('discover_mcp_tools'))
  for (let n = 1; n <= 3; n++) search()
  assert.deepEqual(numbersOf(calls.after(0)), [1, 2, 3])
  assert.deepEqual(numbersOf(calls.after(2)), [3])
  for (let n = 4; n <= 2_500; n++) search()
  const all = numbersOf(calls.after(0))
  assert.deepEqual([all.length, all[0], all.at(-1)], [1_000, 1_501, 2_500])
  assert.deepEqual(
    all,
    all.toSorted((a, b) => a - b),
  )
  assert.deepEqual(numbersOf(calls.after(2_498)), [2_499, 2_500])
  assert.deepEqual(calls.after(9_999), [])
  assert.equal(calls.numbered(1_501)?.call.seq, 1_501)
  for (const absent of [1_500, 2_501, 0, -1, 1.5, Number.NaN]) assert.equal(calls.numbered(absent), undefined)
})

test('a call is kept with the name of its meta-tool, but not with any other name from its request', () => {
  const calls = createCalls(createManualClock(5))
  calls.searched(1, 3, byTool('discover_mcp_tools'))
  calls.searched(1, 3, byTool('text of its sender'))
  assert.deepEqual(
    calls.after(0).map(({ call, by }) => [call.meta, call.client, call.at, by]),
    [
      ['discover_mcp_tools', 'agent', 5, 'ada'],
      [undefined, 'agent', 5, 'ada'],
    ],
  )
})

test('a kept call does not keep the long text of its request or of its fault', () => {
  const calls = createCalls(createManualClock(5))
  const by = byTool('execute_mcp_tool')
  const grown = grownBytes(() => {
    for (let at = 0; at < 20; at++) {
      calls.called({ ...FAILED, by, asked: { kind: 'name', text: longText(at) } })
      // A name out of a list: short, but cut out of a long text.
      const [text = ''] = `${at} not a tool at all,${longText(at)}`.split(',')
      calls.called({ ...FAILED, by, asked: { kind: 'name', text } })
      const answer = new Fault('upstream_protocol', longText(at))
      calls.called({ ...FAILED, outcome: 'upstream_error', by, sent: { params: {}, answer } })
    }
  })
  assert.ok(grown < 2e6, `${grown} bytes`)
  const [first, second, third] = calls.after(0).map(({ call }) => call.why)
  assert.match(first ?? '', /^Nothing here is called "0 é long text .{86}"\.$/)
  assert.equal(second, 'Nothing here is called "0 not a tool at all".')
  assert.match(third ?? '', /^upstream_protocol: 0 é long text /)
  assert.equal(third?.length, 400)
})

test('a refused call is kept with why it was refused', () => {
  const calls = createCalls(createManualClock(5))
  const by = byTool('execute_mcp_tool')
  const busy = new Fault('upstream_busy', '64 calls wait for kit already.')
  calls.called({ ...FAILED, by, sent: { params: {}, answer: busy } })
  calls.called({ ...FAILED, by, scopes: ['files:write', 'files:read'] })
  calls.called({ ...FAILED, by })
  assert.deepEqual(
    calls.after(0).map(({ call }) => call.why),
    [
      'upstream_busy: 64 calls wait for kit already.',
      'Its caller needs a token with the scopes files:write files:read.',
      'The gateway refused it before it was sent: its arguments do not fit the tool.',
    ],
  )
})

test('of reviewed scripts whose call is not recorded yet, only the oldest are forgotten', () => {
  const calls = createCalls(createManualClock(5))
  const by = byTool('execute_mcp_tool')
  const script = { outcome: 'ok', calls: 2, toolsMs: 1, totalMs: 2, keptTokens: 3, by } as ScriptRecord
  for (let n = 0; n <= 100; n++) calls.scriptRan({ ...script, id: `run-${n}`, reviewed: `script-${n}` })
  for (const n of [0, 1, 99, 100])
    calls.called({ ...FAILED, outcome: 'ok', by, server: SCRIPTS, tool: `script-${n}` })
  assert.deepEqual(
    calls.after(0).map(({ call }) => call.ran?.id),
    [undefined, 'run-1', 'run-99', 'run-100'],
  )
})
