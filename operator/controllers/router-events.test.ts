/** Following the event streams of routers: real streams over HTTP, and a manual clock for silence. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { ADMIN_PORT } from '../plan/names.ts'
import { RouterEvents, SILENCE_MS } from './router-events.ts'

const GATEWAY = 'mcp/tools'
const STREAM = { 'content-type': 'text/event-stream' }

/** A router at `address` of the loopback that answers as `answer` says, and the operator's side of its stream. */
async function start(t: TestContext, address: string, answer: (response: ServerResponse) => void) {
  const server = createServer((_request, response) => answer(response))
  server.listen(ADMIN_PORT, address)
  await once(server, 'listening')
  const clock = createManualClock()
  const events = new RouterEvents({ clock, random: () => 0.5 })
  t.after(() => {
    events.close()
    server.close()
    server.closeAllConnections()
  })
  let next = Promise.withResolvers<void>()
  let calls = 0
  /** Resolves at the next event. */
  const event = async () => {
    await next.promise
    next = Promise.withResolvers()
  }
  events.follow(GATEWAY, [address], () => {
    calls++
    next.resolve()
  })
  return {
    events,
    clock,
    event,
    isFollowing: () => events.isFollowing(GATEWAY, [address]),
    eventCount: () => calls,
  }
}

test('a stream is followed until it ends; its end, like an event or a part of one, calls the listener', async t => {
  let stream: ServerResponse | undefined
  const { event, isFollowing, events } = await start(t, '127.0.9.21', response => {
    stream = response
    response.writeHead(200, STREAM).write('event: waiting\ndata: []\n\n')
  })
  assert.equal(isFollowing(), false)
  await event()
  assert.equal(isFollowing(), true)
  assert.equal(events.isFollowing(GATEWAY, ['127.0.9.21', '127.0.9.99']), false)
  stream?.write('event: wait')
  await event()
  stream?.end()
  await event()
  assert.equal(isFollowing(), false)
})

test('heartbeats are not events', async t => {
  let stream: ServerResponse | undefined
  const { event, eventCount } = await start(t, '127.0.9.24', response => {
    stream = response
    response.writeHead(200, STREAM).write('event: waiting\ndata: []\n\n')
  })
  await event()
  stream?.write(':\n\n')
  stream?.write(':\n\n')
  await new Promise(resolve => setImmediate(resolve))
  stream?.write('event: waiting\ndata: []\n\n')
  await event()
  assert.equal(eventCount(), 2)
})

test('a stream that falls silent is no longer followed, and is opened again', async t => {
  let opened = 0
  const { event, isFollowing, clock } = await start(t, '127.0.9.22', response => {
    opened++
    response.writeHead(200, STREAM).write('event: waiting\ndata: []\n\n')
  })
  await event()
  clock.advance(SILENCE_MS - 1)
  assert.equal(isFollowing(), true)
  clock.advance(1)
  await event()
  assert.equal(isFollowing(), false)
  clock.advance(1_000)
  await event()
  assert.deepEqual([isFollowing(), opened], [true, 2])
})

test('a router without an event stream is not followed, reports nothing, and is tried again', async t => {
  let asked = 0
  const { isFollowing, clock, eventCount } = await start(t, '127.0.9.23', response => {
    asked++
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"waiting":"event: waiting"}')
  })
  while (asked < 3) {
    clock.advance(1_000)
    await new Promise(resolve => setImmediate(resolve))
    assert.equal(isFollowing(), false)
  }
  assert.equal(eventCount(), 0)
})
