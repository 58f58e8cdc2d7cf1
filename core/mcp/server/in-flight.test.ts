/** Callers that have left before their request begins, as can happen after a request was forwarded. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { Heartbeats } from './heartbeats.ts'
import { InFlight } from './in-flight.ts'
import { Streams } from './streams.ts'

/** The answer to a caller that went away. */
async function goneAnswer(t: TestContext): Promise<ServerResponse> {
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const caller = request({ port: (server.address() as AddressInfo).port }).on('error', () => {})
  caller.end()
  const [, raw] = (await once(server, 'request')) as [IncomingMessage, ServerResponse]
  caller.destroy()
  await once(raw, 'close')
  return raw
}

test('a response to a caller that has left is aborted, and not kept', async t => {
  const inFlight = new InFlight()
  const { signal } = inFlight.open(await goneAnswer(t), undefined)
  await new Promise(setImmediate)
  assert.match(String(signal.reason), /went away/)
  assert.equal(inFlight.size, 0)
})

test('a stream to a client that is gone is closed and not counted', async t => {
  const clock = createManualClock()
  const streams = new Streams(new Heartbeats(clock))
  const { closed } = streams.open(await goneAnswer(t), { caller: '', place: 'x', client: 'c' })
  await new Promise(setImmediate)
  assert.ok(closed.aborted)
  assert.equal(streams.size, 0)
  assert.equal(clock.pending(), 0)
})
