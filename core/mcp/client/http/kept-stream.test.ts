/** When a stream for messages between calls is requested again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { until } from '../../../../test/support/until.ts'
import { answer, raw, startRude, stream } from '../../../../test/upstreams/http/rude.ts'
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

test('a stream without messages that lasts as long as a proxy allows is opened again after a second each time', async t => {
  const clock = createManualClock()
  let end = (): void => {}
  const server = await startRude({
    initialize: answer({ protocolVersion: '2025-11-25', capabilities: { tools: { listChanged: true } } }),
    GET: stream(response => {
      response.write(': open\n\n')
      end = () => void response.end()
    }),
  })
  const spec = { url: server.url, transport: 'streamable-http', sessions: 'shared' } as const
  const upstream = createHttpUpstream({ ...spec, startTimeoutMs: 5_000 }, { clock, random: () => 1 })
  t.after(() => Promise.all([upstream.close(), server.close()]))
  upstream.onEvent(() => {})
  await upstream.connect(never)
  const opens = () => server.log.filter(entry => entry === 'GET').length
  for (let times = 1; times <= 4; times++) {
    await until(() => opens() === times)
    clock.advance(60_000)
    end()
    await until(() => clock.pending() === 1)
    clock.advance(999)
    assert.equal(clock.pending(), 1)
    clock.advance(1)
  }
})
