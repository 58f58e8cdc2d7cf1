/** Joining a stream with a port of a pod, against a WebSocket server that reads when the test wants it to. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Duplex } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { until } from '../../test/support/until.ts'
import { createPortForwarder } from './port-forward.ts'

const CHUNK = Buffer.alloc(64 * 1024)
const TOTAL = 1_000 * CHUNK.length
/** As RFC 6455 wants it. */
const MAGIC = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

test('a stream that gives more than the pod reads has to wait, and loses nothing', async t => {
  const { access, accepted } = await serve(t)
  let given = 0
  const source = new Duplex({
    read() {
      given += CHUNK.length
      this.push(given > TOTAL ? null : CHUNK)
    },
    write: (_chunk, _encoding, done) => done(),
  })
  t.after(() => source.destroy())
  await createPortForwarder(access).join(source, { namespace: 'ns', pod: 'p', port: 80 }, assert.fail)
  const far = await accepted
  await until(() => source.isPaused() || given >= TOTAL)
  for (let turns = 0; turns < 100; turns++) await turn()
  assert.ok(given < TOTAL / 2, `${given} bytes were taken`)
  let received = 0
  far.on('data', chunk => {
    received += chunk.length
  })
  await until(() => received >= TOTAL)
})

/** Accepts one WebSocket, and does not read from it. */
async function serve(t: TestContext) {
  const accepted = Promise.withResolvers<Duplex>()
  const server = createServer().on('upgrade', (request, socket) => {
    const accept = createHash('sha1')
      .update(`${request.headers['sec-websocket-key']}${MAGIC}`)
      .digest('base64')
    const head = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade']
    const own = [`Sec-WebSocket-Accept: ${accept}`, 'Sec-WebSocket-Protocol: v4.channel.k8s.io']
    socket.on('error', () => {})
    socket.write([...head, ...own, '', ''].join('\r\n'))
    t.after(() => socket.destroy())
    accepted.resolve(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const access = { server: address, namespace: 'ns', credentials: async () => ({ headers: {}, tls: {} }) }
  return { access, accepted: accepted.promise }
}

const turn = () => new Promise(resolve => setImmediate(resolve))
