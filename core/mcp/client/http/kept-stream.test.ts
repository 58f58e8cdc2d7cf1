/** When a stream for messages between calls is requested again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { until } from '../../../../test/support/until.ts'
import { answer, raw, startRude } from '../../../../test/upstreams/http/rude.ts'
import { createHttpUpstream } from './streamable.ts'

const never = new AbortController().signal

for (const status of [408, 425, 429])
  test(`a stream that is refused with ${status} is requested again, and nobody waits for it`, async t => {
    const clock = createManualClock()
    const server = await startRude({
      initialize: answer({ protocolVersion: '2025-11-25', capabilities: { tools: { listChanged: true } } }),
      GET: raw(status, 'text/plain', ''),
    })
    const spec = { url: server.url, transport: 'streamable-http', sessions: 'shared' } as const
    const upstream = createHttpUpstream({ ...spec, startTimeoutMs: 5_000 }, { clock, random: () => 1 })
    t.after(() => Promise.all([upstream.close(), server.close()]))
    await upstream.connect(never)
    // Of the pause before the next request.
    await until(() => clock.pending() === 1)
    clock.advance(1_000)
    await until(() => clock.pending() === 1)
    assert.equal(server.log.filter(entry => entry === 'GET').length, 2)
  })
