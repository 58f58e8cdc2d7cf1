/** Connections whose client does not read, and those that wait for an answer when the server shuts down. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { until } from '../../../test/support/until.ts'
import { type Connections, watchConnections } from './connections.ts'

/** In real time, since Node measures it. A socket is cut after twice as long: Node first compares how much it has left to send. */
const STALL_MS = 1_000
const LARGE = Buffer.alloc(32 * 1024 * 1024)
const GET = 'GET / HTTP/1.1\r\nhost: localhost\r\n\r\n'

test('a client that does not read its answer is cut off; one that reads slowly or waits is not', async t => {
  const answered: Socket[] = []
  const { dial, clock } = await start(t, ({ url, socket }, raw) => {
    answered.push(socket)
    if (url === '/') raw.end(LARGE)
  })
  const [stalled, slow, waiting] = [dial(), dial(), dial()]
  stalled.write(GET)
  await until(() => answered.length > 0)
  slow.write(GET)
  waiting.write(GET.replace('/', '/wait'))
  for (const socket of [stalled, slow]) await once(socket, 'readable')
  clock.advance(STALL_MS)
  let received = 0
  for await (const chunk of slow) {
    received += chunk.length
    if (received > LARGE.length) slow.end()
    if (!answered[0]?.destroyed) await new Promise(resolve => setTimeout(resolve, 2))
  }
  assert.ok(received > LARGE.length)
  await until(() => answered[0]?.destroyed)
  let delivered = 0
  for await (const chunk of stalled) delivered += chunk.length
  assert.ok(delivered < LARGE.length, 'the rest was not sent')
  assert.equal(waiting.destroyed, false)
})

test('during shutdown the next answer is the last on its connection', async t => {
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

test('a request that is sent while its idle connection is closed gets the response for that', async t => {
  const { dial, server, connections, connected } = await start(t, (_request, raw) => raw.end('never'))
  const socket = dial()
  await connected()
  connections.endIdle('HTTP/1.1 503 Closing\r\n\r\n')
  server.close()
  server.closeAllConnections()
  socket.write(GET)
  let text = ''
  for await (const chunk of socket) text += chunk
  assert.equal(text, 'HTTP/1.1 503 Closing\r\n\r\n')
})

test('a connection with a request is not closed as idle', async t => {
  const answers: ServerResponse[] = []
  const { dial, connections, requested } = await start(t, (_request, raw) => answers.push(raw))
  const socket = dial()
  socket.write(GET)
  await requested()
  connections.endIdle('HTTP/1.1 503 Closing\r\n\r\n')
  answers[0]?.end('answer')
  const [chunk] = await once(socket, 'data')
  assert.match(String(chunk), /^HTTP\/1.1 200 OK/)
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
    server,
    connected: () => once(server, 'connection'),
    requested: () => once(server, 'request'),
    dial(): Socket {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      t.after(() => socket.destroy())
      return socket
    },
  }
}
