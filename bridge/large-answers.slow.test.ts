/** Answers that a bridge does not pass on: its error has what its router needs to tell its caller. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../core/async.ts'
import { connectRemote } from '../core/mcp/client/connect.ts'
import { MAX_VALUES } from '../core/parse-json.ts'
import { startTestBridge } from '../test/support/bridge.ts'
import { textOf, toolCall } from '../test/upstreams/rude/rude.ts'

const MIB = 2 ** 20
const { signal } = new AbortController()

test('an answer that is too large is an error with the limit, and the child goes on', async t => {
  const { url } = await startTestBridge(t)
  const spec = { url, transport: 'streamable-http', sessions: 'shared', startTimeoutMs: 10_000 } as const
  const upstream = connectRemote(spec, { clock: systemClock })
  t.after(() => upstream.close())
  for (const [call, limit] of [
    [toolCall('big', { bytes: 33 * MIB }), { maxBytes: 32 * MIB }],
    [toolCall('many_values', { values: MAX_VALUES }), { maxValues: MAX_VALUES }],
  ] as const) {
    const { error } = await upstream.request({ ...call, maxBytes: 64 * MIB }, signal)
    assert.equal(error?.code, -32000)
    assert.deepEqual(error.data, { reason: 'upstream_too_large', retryable: false, ...limit })
  }
  assert.equal(textOf(await upstream.request(toolCall('echo', { text: 'here' }), signal)), 'here')
})
