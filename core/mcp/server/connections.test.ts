/** Connections whose reader takes nothing, and those that wait for an answer when the end begins. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { type Connections, watchConnections } from './connections.ts'

const STALL_MS = 400
const LARGE = Buffer.alloc(32 * 1024 * 1024)
const GET = 'GET / HTTP/1.1\r\nhost: localhost\r\n\r\n'

test('a reader that takes nothing of its answer is cut off, one that takes it slowly and one that waits are not', async t => {
  const { dial, clock } = await start(t, ({ url }, raw) => {
    if (url === '/') raw.end(LARGE)
  })
  const [stalled, slow, waiting] = [dial(), dial(), dial()]
  stalled.write(GET)
  slow.write(GET)
  waiting.write(GET.replace('/', '/wait'))
  for (const socket of [stalled, slow]) await once(socket, 'readable')
  clock.advance(STALL_MS)
  let taken = 0
  for await (const chunk of slow) {
    taken += chunk.length
    if (taken > LARGE.length) slow.end()
    await new Promise(resolve => setTimeout(resolve, 2))
  }
  assert.ok(taken > LARGE.length)
  let left = 0
  for await (const chunk of stalled) left += chunk.length
  assert.ok(left < LARGE.length, 'the rest was not sent')
  assert.equal(waiting.destroyed, false)
})

test('at the end an answer that has not begun is the last on its connection', async t => {
  const { dial, connections, requested } = await start(t, (_request, raw) => {
    setImmediate(() => raw.end('last'))
  })
  const socket = dial()
  socket.write(GET)
  await requested()
  connections.end()
  let text = ''
  for await (const chunk of socket) text += chunk
  assert.match(text, /^connection: close\r$/im)
  assert.match(text, /last$/)
})

async function start(t: TestContext, answer: RequestListener) {
  const server = createServer(answer).listen(0, '127.0.0.1')
  const clock = createManualClock()
  const connections: Connections = watchConnections(server, clock, STALL_MS)
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    clock,
    connections,
    requested: () => once(server, 'request'),
    dial(): Socket {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      t.after(() => socket.destroy())
      return socket
    },
  }
}
