/** A server whose connections are all taken by idle clients. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { until } from '../../../test/support/until.ts'
import { keepRoom } from './connection-room.ts'

const MAX = 64

test('idle connections of clients that were never admitted make room for new ones', async t => {
  const { ask, closed } = await start(t)
  const stream = ask('/stream')
  await stream.answer
  const user = ask('/admitted')
  await user.answer
  const idle: Socket[] = []
  for (let at = 0; at < 3 * MAX; at++) {
    const { socket, answer } = ask('/refused')
    idle.push(socket)
    assert.match(await answer, / 401 /)
  }
  await until(() => closed.has(idle[0] as Socket))
  assert.ok(!closed.has(stream.socket) && !closed.has(user.socket))
  assert.ok(!closed.has(idle.at(-1) as Socket))
  const again = once(user.socket, 'data')
  user.socket.write(requestOf('/admitted'))
  assert.match(String(await again), / 200 /)
})

test('if all idle connections are of admitted clients, the one that is idle longest is closed first, with a response', async t => {
  const { ask, closed } = await start(t, 'HTTP/1.1 503 Closing\r\n\r\n')
  const [first, second] = [ask('/admitted'), ask('/admitted')]
  await Promise.all([first.answer, second.answer])
  const told = once(second.socket, 'data')
  for (let at = 0; at < MAX; at++) {
    await ask('/admitted').answer
    if (at !== MAX / 2) continue
    const again = once(first.socket, 'data')
    first.socket.write(requestOf('/admitted'))
    await again
  }
  assert.match(String(await told), /503 Closing/)
  await until(() => closed.has(second.socket))
  assert.ok(!closed.has(first.socket))
})

test('a client that connects without a request has time for its first one', async t => {
  const { ask, dial, closed } = await start(t)
  for (let at = 0; at < MAX - 3; at++) await ask('/admitted').answer
  const socket = dial()
  await once(socket, 'connect')
  await ask('/admitted').answer
  assert.ok(!closed.has(socket))
  const answer = once(socket, 'data')
  socket.write(requestOf('/admitted'))
  assert.match(String(await answer), / 200 /)
})

function requestOf(path: string): string {
  return `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`
}

async function start(t: TestContext, closing?: string) {
  const server = createServer({ keepAliveTimeout: 60_000 }, ({ url }, raw) => {
    if (url === '/refused') return raw.writeHead(401).end()
    room.admitted(raw)
    raw.writeHead(200)
    if (url === '/stream') raw.write('open')
    else raw.end()
  })
  const room = keepRoom(server, MAX, closing)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const closed = new Set<Socket>()
  const dial = (): Socket => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.on('close', () => closed.add(socket))
    t.after(() => socket.destroy())
    return socket
  }
  /** Sends a request on a new connection, which stays open; rejects if that is closed before it is answered. */
  const ask = (path: string) => {
    const socket = dial()
    socket.write(requestOf(path))
    const answer = new Promise<string>((resolve, reject) => {
      socket.once('data', data => resolve(String(data)))
      socket.once('close', () => reject(new Error('closed before the answer')))
    })
    return { socket, answer }
  }
  return { ask, dial, closed }
}
