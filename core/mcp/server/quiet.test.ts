/** When connections can be closed: not while a request has arrived that the process has not read yet. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { until } from '../../../test/support/until.ts'
import { watchQuiet } from './quiet.ts'

const REQUEST = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n'

test('a request that arrived while the process got no CPU time is waited for', async t => {
  const clock = createManualClock()
  const server = createServer((_request, response) => response.end())
  const quiet = watchQuiet(server, clock)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.after(() => {
    client.destroy()
    server.close()
  })
  await once(client, 'connect')
  client.write(REQUEST)
  await once(server, 'request')
  let isQuiet = false
  const waited = quiet.wait(60_000).then(() => {
    isQuiet = true
  })
  await until(() => clock.pending() > 0)
  // Both in one turn, as after a pause of the process: the timer is due, and a request has arrived.
  client.write(REQUEST)
  clock.advance(1_000)
  await until(() => clock.pending() > 0 || isQuiet)
  assert.equal(isQuiet, false)
  clock.advance(1_000)
  await waited
})

test('while requests keep arriving, the wait ends at its limit', async () => {
  const clock = createManualClock()
  const server = createServer()
  let isQuiet = false
  const waited = waitForQuiet(server, clock).then(() => {
    isQuiet = true
  })
  for (const ms of [800, 800, 800]) {
    await until(() => clock.pending() > 0)
    assert.equal(isQuiet, false)
    clock.advance(ms)
    server.emit('request')
    clock.advance(200)
  }
  await waited
  assert.equal(clock.now(), 3_000)
})

function waitForQuiet(server: ReturnType<typeof createServer>, clock: ReturnType<typeof createManualClock>) {
  const quiet = watchQuiet(server, clock)
  server.emit('request')
  return quiet.wait(3_000)
}
