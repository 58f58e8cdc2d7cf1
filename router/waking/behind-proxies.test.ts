/** Calls to a server that sleeps behind a proxy, such as that of a service mesh, which accepts connections while nothing runs. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type Clock, systemClock } from '../../core/async.ts'
import type { RouterServer } from '../../core/catalog/router-config.ts'
import { createConnector } from '../../core/mcp/client/connector.ts'
import { serverOf, snapshotOf } from '../../test/meta/fixture.ts'
import { callOf } from '../../test/support/call.ts'
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts'
import { until } from '../../test/support/until.ts'
import { startSdk1 } from '../../test/upstreams/http/sdk1.ts'
import { createPool } from '../upstream/pool.ts'
import { WakeRequests } from './wake-requests.ts'

const LIMITS = { callTimeoutMs: 10_000, startTimeoutMs: 20_000, concurrency: 16, maxResultBytes: 1_024 }
const ECHO = { method: 'tools/call', params: { name: 'echo', arguments: { text: 'x' } } }
const ASLEEP = { sleep: { asleep: true }, status: { state: 'asleep', hidden: false } } as const
const WAKING = { ...ASLEEP, sleep: { asleep: false } }
const AWAKE = { sleep: { asleep: false }, status: { state: 'ready', hidden: false } } as const

/** What the proxy does with a request: answers with a status, closes the connection, or passes it on to a port. */
type Proxied = number | 'closes' | { port: number; cutsAt?: string }

async function startProxy(t: TestContext, first: Proxied) {
  const proxy = { does: first, requests: 0, port: 0 }
  const open = new Set<Socket>()
  const server = createServer(socket => {
    open.add(socket)
    socket.on('error', () => {})
    socket.once('data', data => {
      const { does } = proxy
      proxy.requests++
      if (does === 'closes') socket.destroy()
      else if (typeof does === 'number')
        socket.end(`HTTP/1.1 ${does} No\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
      else passOn(socket, data, does)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  proxy.port = (server.address() as AddressInfo).port
  return proxy
}

function passOn(socket: Socket, first: Buffer, { port, cutsAt }: { port: number; cutsAt?: string }): void {
  const pod = connect({ host: '127.0.0.1', port })
  pod.on('error', () => socket.destroy())
  pod.pipe(socket)
  const pass = (data: Buffer) => {
    pod.write(data)
    if (cutsAt !== undefined && data.includes(cutsAt)) socket.destroy()
  }
  pass(first)
  socket.on('data', pass)
  socket.on('close', () => pod.destroy())
}

async function start(
  t: TestContext,
  first: Proxied,
  more: Partial<RouterServer> = {},
  clock: Clock = systemClock,
) {
  const proxy = await startProxy(t, first)
  const waits: string[] = []
  const wakes = new WakeRequests({ clock, onWaited: (_, outcome) => waits.push(outcome) })
  const pool = createPool({ clock, wakes, connect: createConnector({ clock, secret: () => undefined }) })
  t.after(() => pool.close())
  const url = `http://127.0.0.1:${proxy.port}/mcp`
  const endpoint = { kind: 'http', url, transport: 'streamable-http', revision: '1' } as const
  const server: RouterServer = {
    ...serverOf('sleeper'),
    ...{ endpoint, limits: LIMITS, ...ASLEEP },
    ...more,
  }
  const adopt = (changed: Partial<RouterServer>) =>
    pool.update(snapshotOf({}, { servers: [{ ...server, ...changed }] }, 1).config)
  adopt({})
  const startPod = async () => {
    const pod = await startSdk1('stateful')
    t.after(() => pod.close())
    return pod
  }
  const call = () => pool.call('sleeper', callOf(ECHO), new AbortController().signal)
  return { proxy, pool, wakes, waits, endpoint, adopt, call, startPod }
}

/** Advances the clock until the work is done. */
async function pass<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
  let isDone = false
  const end = () => {
    isDone = true
  }
  work.then(end, end)
  await until(() => {
    if (!isDone) clock.advance(100)
    return isDone
  })
  return work
}

const toolCalls = ({ log }: { log: string[] }) => log.filter(line => line === 'POST tools/call').length

for (const answer of [502, 503, 504, 'closes'] as const)
  test(`a call wakes a server whose proxy, while nothing runs, ${answer === 'closes' ? 'closes connections' : `answers ${answer}`}`, async t => {
    const { proxy, pool, wakes, adopt, call, startPod } = await start(t, answer)
    const calls = [call(), call()]
    await until(() => wakes.list().length === 1)
    assert.equal(proxy.requests, 0)
    adopt(WAKING)
    await until(() => proxy.requests > 3)
    const pod = await startPod()
    adopt(AWAKE)
    const { requests } = proxy
    await until(() => proxy.requests > requests)
    proxy.does = pod
    for (const reply of await Promise.all(calls)) assert.equal(reply.error, undefined)
    assert.deepEqual([toolCalls(pod), pool.status()[0]?.breaker.failures, wakes.list()], [2, 0, []])
  })

for (const answer of [503, 'closes'] as const)
  test(`calls to a server that is awake, and ${answer === 503 ? 'answers 503' : 'closes connections'}, fail at once`, async t => {
    const clock = createManualClock()
    const { proxy, pool, wakes, waits, call } = await start(t, answer, AWAKE, clock)
    const code = answer === 503 ? 'upstream_unreachable' : 'upstream_died'
    for (let at = 0; at < 5; at++) await assert.rejects(pass(clock, call()), { code })
    assert.ok(clock.elapsed() < 5_000)
    assert.equal(pool.status()[0]?.breaker.state, 'open')
    // The client sends a request of the handshake again if its connection was closed.
    assert.ok(proxy.requests <= 20, String(proxy.requests))
    assert.deepEqual([wakes.list(), waits], [[], []])
  })

test('a server that was woken, and then goes on answering 503, is reported as failing, after few handshakes', async t => {
  const clock = createManualClock()
  const { proxy, pool, wakes, adopt, call } = await start(t, 503, {}, clock)
  const calls = Array.from({ length: 8 }, () => call())
  const ended = Promise.allSettled(calls)
  await until(() => wakes.list().length === 1)
  adopt(AWAKE)
  await pass(clock, ended)
  for (const one of calls)
    await assert.rejects(one, { code: 'upstream_unreachable', details: { status: 503 } })
  assert.ok(clock.elapsed() < 10_000)
  assert.ok(proxy.requests < 40, String(proxy.requests))
  assert.equal(pool.status()[0]?.breaker.state, 'open')
})

test('a call waits for the pod of its user behind such a proxy, and is sent once', async t => {
  const { proxy, wakes, waits, adopt, endpoint, call, startPod } = await start(t, 503, { sleep: undefined })
  adopt({ sleep: undefined, endpoint: { ...endpoint, instance: { user: 'ada' } } as never })
  const reported: number[] = []
  wakes.onChange(() => reported.push(wakes.list().length))
  const waiting = call()
  await until(() => proxy.requests > 4)
  const pod = await startPod()
  proxy.does = pod
  assert.equal((await waiting).error, undefined)
  assert.equal(toolCalls(pod), 1)
  assert.deepEqual([reported, waits], [[1, 0], ['woken']])
})

test('if the pod of a user goes on answering 503, its calls fail with that, at first after the start timeout, then at once', async t => {
  const clock = createManualClock()
  const limits = { ...LIMITS, startTimeoutMs: 5_000 }
  const { proxy, pool, adopt, endpoint, call } = await start(t, 503, { limits }, clock)
  adopt({ sleep: undefined, endpoint: { ...endpoint, instance: { user: 'ada' } } as never })
  const fails = () => assert.rejects(call(), { code: 'upstream_unreachable', details: { status: 503 } })
  await pass(clock, fails())
  assert.equal(pool.status()[0]?.breaker.failures, 0)
  assert.ok(clock.elapsed() >= limits.startTimeoutMs)
  assert.ok(proxy.requests < 40, String(proxy.requests))
  for (let at = 0; at < 5; at++) await pass(clock, fails())
  assert.ok(clock.elapsed() < limits.startTimeoutMs + 10_000)
  assert.equal(pool.status()[0]?.breaker.state, 'open')
})

test('a call that was sent is not sent again if the proxy then closes its connection', async t => {
  const { proxy, call, startPod, adopt } = await start(t, 503)
  adopt(AWAKE)
  const pod = await startPod()
  proxy.does = { port: pod.port, cutsAt: '"tools/call"' }
  await assert.rejects(call(), { code: 'upstream_died' })
  await pod.logged('POST tools/call')
  assert.equal(toolCalls(pod), 1)
})

test('a call that such a proxy lets through to no pod in time says that the server could not be woken', async t => {
  const sleep = { asleep: false, problem: 'its image cannot be pulled' }
  const limits = { ...LIMITS, startTimeoutMs: 300 }
  const status = { state: 'failed', hidden: false } as const
  const { call, proxy } = await start(t, 503, { sleep, status, limits })
  await assert.rejects(call(), {
    code: 'upstream_asleep',
    details: { seconds: 1, heard: true, problem: sleep.problem },
  })
  assert.ok(proxy.requests > 0)
})

test('a call is sent although a router that hears nothing of the API server takes the server for asleep', async t => {
  const clock = createManualClock()
  const { proxy, call, startPod, wakes } = await start(t, 503, {}, clock)
  const pod = await startPod()
  proxy.does = pod
  assert.equal((await pass(clock, call())).error, undefined)
  assert.ok(clock.elapsed() >= 5_000)
  assert.equal(toolCalls(pod), 1)
  assert.deepEqual(wakes.list(), [])
})
