/** Large answers of several servers at once: a process receives only so many bytes of them. */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { callOf } from '../../../../test/support/call.ts'
import { until } from '../../../../test/support/until.ts'
import { startRude, stream } from '../../../../test/upstreams/http/rude.ts'
import { systemClock } from '../../../async.ts'
import { AnswerRoom } from '../../answer-room.ts'
import { connectRemote } from '../connect.ts'

const MIB = 1024 * 1024
const never = new AbortController().signal
const NO_ROOM = { code: 'upstream_too_large', retryable: true, details: { crowded: true } }

/** A server whose answers have `size` bytes; with `holds` the end of an answer is sent by `end`. */
async function start(t: TestContext, form: 'body' | 'events', room: AnswerRoom) {
  const held: (() => void)[] = []
  const write = (response: ServerResponse, id: unknown, size: number, holds: boolean) => {
    const [head, tail] = form === 'events' ? ['data: ', '\n\n'] : ['', '']
    response.write(`${head}{"jsonrpc":"2.0","id":${id},"result":{"text":"${'x'.repeat(size)}`)
    const end = () => void response.end(`"}}${tail}`)
    if (holds) held.push(end)
    else end()
  }
  const server = await startRude({
    'tools/call': (response, message, request) => {
      const { size, holds } = message.params as { size: number; holds: boolean }
      if (form === 'events')
        return stream((on, { id }) => write(on, id, size, holds))(response, message, request)
      response.writeHead(200, { 'content-type': 'application/json' })
      write(response, message.id, size, holds)
    },
  })
  const spec = {
    url: server.url,
    transport: 'streamable-http',
    sessions: 'shared',
    startTimeoutMs: 5_000,
  } as const
  const upstream = connectRemote(spec, { clock: systemClock, room })
  t.after(() => Promise.all([upstream.close(), server.close()]))
  const call = async (size: number, { holds = false, signal = never } = {}) => {
    const { result } = await upstream.request(callOf({ params: { size, holds }, maxBytes: 64 * MIB }), signal)
    return String(result?.text).length
  }
  return { call, end: () => held.shift()?.() }
}

for (const form of ['body', 'events'] as const)
  test(`an answer in ${form} for which there is no room is refused, and small ones pass`, async t => {
    const room = new AnswerRoom(4 * MIB)
    const one = await start(t, form, room)
    const other = await start(t, form, room)
    const held = one.call(3 * MIB, { holds: true })
    await until(() => room.left < 1.5 * MIB)
    await assert.rejects(other.call(2 * MIB), NO_ROOM)
    assert.equal(await other.call(MIB / 2), MIB / 2)
    one.end()
    assert.equal(await held, 3 * MIB)
    assert.equal(await other.call(3 * MIB), 3 * MIB)
    assert.equal(room.left, 4 * MIB)
  })

test('the room of a call that is cancelled is free again', async t => {
  const room = new AnswerRoom(4 * MIB)
  const { call } = await start(t, 'body', room)
  const leaving = new AbortController()
  const held = call(3 * MIB, { holds: true, signal: leaving.signal })
  await until(() => room.left < 1.5 * MIB)
  leaving.abort()
  await assert.rejects(held)
  assert.equal(room.left, 4 * MIB)
})

test('a process has room for the largest answer at least', () => {
  assert.ok(new AnswerRoom().left >= 64 * MIB)
})

test('a share of a room leaves the rest of it to others', () => {
  const room = new AnswerRoom(200 * MIB)
  const [one, other] = [room.share(), room.share()]
  assert.equal(one.take(90 * MIB), true)
  assert.equal(one.take(20 * MIB), false)
  assert.equal(other.take(100 * MIB), true)
  assert.equal(room.left, 10 * MIB)
  one.free(90 * MIB)
  assert.deepEqual([room.left, one.left], [100 * MIB, 100 * MIB])
})
