/** Changed lists that a 2025 server may have reported while its stream for messages between calls was cut. */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { until } from '../../../../test/support/until.ts'
import { answer, startRude, stream } from '../../../../test/upstreams/http/rude.ts'
import { createHttpUpstream } from './streamable.ts'

const FIRST_DELAY_MS = 1_000
const PAUSE_MS = 30_000

test('after a stream was cut the lists are read again, at most every 30 seconds', async t => {
  const clock = createManualClock()
  const streams: ServerResponse[] = []
  const server = await startRude({
    initialize: answer({ protocolVersion: '2025-11-25', capabilities: { tools: { listChanged: true } } }),
    GET: stream(response => {
      response.write(': open\n\n')
      streams.push(response)
    }),
  })
  const spec = { url: server.url, transport: 'streamable-http', sessions: 'shared' } as const
  const upstream = createHttpUpstream({ ...spec, startTimeoutMs: 5_000 }, { clock, random: () => 1 })
  t.after(() => Promise.all([upstream.close(), server.close()]))
  let changes = 0
  upstream.onEvent(({ kind }) => kind === 'listChanged' && changes++)
  await upstream.connect(new AbortController().signal)
  await until(() => streams.length === 1)
  const cut = async () => {
    // The next delay starts anew if the stream lasted longer than the last one.
    clock.advance(FIRST_DELAY_MS + 1)
    const [delays, opened] = [clock.started(FIRST_DELAY_MS), streams.length]
    streams.at(-1)?.end()
    await until(() => clock.started(FIRST_DELAY_MS) > delays)
    clock.advance(FIRST_DELAY_MS)
    await until(() => streams.length > opened)
  }
  await cut()
  await until(() => changes === 1)
  await cut()
  await until(() => clock.pending() === 1)
  assert.equal(changes, 1)
  clock.advance(PAUSE_MS)
  assert.equal(changes, 2)
  clock.advance(PAUSE_MS)
  assert.equal(changes, 2)
  await cut()
  await until(() => changes === 3)
})
