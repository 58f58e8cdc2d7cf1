/** Large answers: those of a batch are bounded together, and those that callers have not read yet. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { errorOf, LEGACY_HEADERS, legacy, post } from '../../../test/front/post.ts'
import { until } from '../../../test/support/until.ts'
import { systemClock } from '../../async.ts'
import { createLog } from '../../log.ts'
import { AnswerRoom } from '../answer-room.ts'
import { ANONYMOUS } from '../identity.ts'
import { createEndpoint } from './endpoint.ts'
import type { McpHandler } from './handler.ts'
import { InFlight } from './in-flight.ts'
import { createSessions } from './session-ids.ts'

const MIB = 1024 * 1024

/** A front whose handler answers each call with a result of `params.size` characters. */
async function start(t: TestContext, room = new AnswerRoom(200 * MIB)) {
  const handled: unknown[] = []
  const handler: McpHandler = {
    describe: () => undefined,
    async handle({ params }) {
      handled.push(params.size)
      if (params.name === 'never') return new Promise(() => {})
      return { result: {}, resultText: `{"text":"${'x'.repeat(Number(params.size))}"}` }
    },
  }
  const sessions = createSessions({ key: 'key', owner: 'one', clock: systemClock })
  const inFlight = new InFlight(room)
  const endpoint = createEndpoint({ handler, sessions, inFlight, log: createLog({ level: 'silent' }) })
  const server = createServer(async (request, raw) => {
    const body = (await request.setEncoding('utf8').toArray()).join('')
    endpoint.post({ kind: 'server', server: 'large' }, request.headers, body, ANONYMOUS, raw)
  }).listen(0, '127.0.0.1')
  const sockets: Socket[] = []
  server.on('connection', socket => sockets.push(socket))
  await once(server, 'listening')
  t.after(() => {
    endpoint.end()
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  /** Sends requests on one connection and reads no answer. */
  const unread = (...bodies: unknown[]) => {
    const headers = Object.entries(LEGACY_HEADERS).map(([name, value]) => `${name}: ${value}\r\n`)
    const socket = connect(port, '127.0.0.1').pause()
    const texts = bodies.map(one => JSON.stringify(one))
    // One write, so that the server has read all requests before it answers the first.
    socket.write(
      texts
        .map(
          text =>
            `POST /mcp HTTP/1.1\r\nhost: x\r\n${headers.join('')}content-length: ${text.length}\r\n\r\n${text}`,
        )
        .join(''),
    )
    t.after(() => socket.destroy())
    return socket
  }
  return { url: `http://127.0.0.1:${port}/mcp`, unread, sockets, handled }
}

function call(size: number, id = 1) {
  return legacy('tools/call', { name: 'x', size }, id)
}

function batchOf(count: number, size: number) {
  return Array.from({ length: count }, (_, id) => call(size, id))
}

test('the answers of a batch that are too large together are errors, and the first ones are sent', async t => {
  const { url } = await start(t)
  const { status, text } = await post(url, batchOf(45, 20 * MIB))
  assert.equal(status, 200)
  const answers = JSON.parse(text) as { id: number; result?: object; error?: { message: string } }[]
  assert.deepEqual(
    answers.map(({ id }) => id),
    batchOf(45, 0).map(({ id }) => id),
  )
  assert.equal(answers.filter(({ result }) => result).length, 3)
  for (const { error } of answers.slice(3)) assert.match(error?.message ?? '', /fewer at once/)
})

test('an answer of the largest size is sent in a batch of one', async t => {
  const { url } = await start(t)
  const { text } = await post(url, batchOf(1, 64 * MIB))
  assert.ok(text.length > 64 * MIB)
})

for (const [form, body] of [
  ['one answer', call(20 * MIB)],
  ['a batch of one', batchOf(1, 20 * MIB)],
  ['a batch of many', batchOf(40, MIB / 2)],
] as const)
  test(`while a caller does not read ${form} that is large, there is less room for others`, async t => {
    const room = new AnswerRoom(32 * MIB)
    const { url, unread } = await start(t, room)
    const caller = unread(body)
    await until(() => room.left < 14 * MIB)
    assert.match(String(errorOf(await post(url, call(15 * MIB))).message), /try again/)
    assert.match((await post(url, batchOf(1, 15 * MIB))).text, /try again/)
    assert.ok((await post(url, call(MIB / 2))).json.result)
    caller.destroy()
    await until(() => room.left === 32 * MIB)
    assert.ok((await post(url, call(15 * MIB))).json.result)
    await until(() => room.left === 32 * MIB)
  })

test('a caller that reads nothing of a large answer for a minute is disconnected', async t => {
  const room = new AnswerRoom(32 * MIB)
  const { unread, sockets } = await start(t, room)
  unread(call(20 * MIB))
  await until(() => room.left < 14 * MIB)
  assert.equal(sockets[0]?.timeout, 60_000)
  sockets[0]?.emit('timeout')
  await until(() => room.left === 32 * MIB)
  assert.ok(sockets[0]?.destroyed)
})

test('a request that waited behind a large answer has no limit from it', async t => {
  const room = new AnswerRoom(32 * MIB)
  const { unread, sockets } = await start(t, room)
  const caller = unread(call(20 * MIB), legacy('tools/call', { name: 'never' }))
  await until(() => room.left < 14 * MIB)
  assert.equal(sockets[0]?.timeout, 60_000)
  caller.resume()
  await until(() => room.left === 32 * MIB)
  assert.equal(sockets[0]?.timeout, 0)
})

test('many answers below 1 MiB that a caller does not read leave less room for others', async t => {
  const room = new AnswerRoom(32 * MIB)
  const { url, unread, handled } = await start(t, room)
  const caller = unread(...Array.from({ length: 50 }, (_, id) => call(0.9 * MIB, id)))
  await until(() => handled.length === 50)
  await until(() => room.left < MIB)
  assert.match(String(errorOf(await post(url, call(MIB))).message), /try again/)
  assert.ok((await post(url, call(16_000))).json.result)
  caller.destroy()
  await until(() => room.left === 32 * MIB)
  assert.ok((await post(url, call(MIB))).json.result)
})

test('answers below 1 MiB are sent in turn to a caller that sent its requests ahead', async t => {
  const room = new AnswerRoom(32 * MIB)
  const { unread } = await start(t, room)
  const caller = unread(...Array.from({ length: 20 }, (_, id) => call(0.9 * MIB, id)))
  let read = ''
  caller.setEncoding('utf8').on('data', text => {
    read += text
  })
  caller.resume()
  await until(() => read.split('"text":"').length === 21)
  await until(() => room.left === 32 * MIB)
})

test('a large answer takes no room while it waits behind another answer on its connection', async t => {
  const room = new AnswerRoom(32 * MIB)
  const { url, unread, handled } = await start(t, room)
  const caller = unread(legacy('tools/call', { name: 'never' }), call(20 * MIB, 2))
  await until(() => handled.includes(20 * MIB))
  await new Promise(resolve => setImmediate(resolve))
  assert.equal(room.left, 32 * MIB)
  caller.destroy()
  assert.ok((await post(url, call(20 * MIB))).json.result)
})
