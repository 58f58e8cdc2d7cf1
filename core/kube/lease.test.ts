/** Holding a lease while its server fails, with a manual clock. A real HTTP server stores the lease as the API server would. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { until } from '../../test/support/until.ts'
import { createLog } from '../log.ts'
import { KubeClient } from './client.ts'
import { leadWhileHolding } from './lease.ts'
import type { KubeObject } from './object.ts'

type Lease = KubeObject & { spec: { holderIdentity: string; renewTime: string; leaseTransitions: number } }
type State = {
  lease: Lease | undefined
  mode: 'serve' | 'refuse' | 'hang' | 'write and break' | 'write and wait'
  forget(): void
  /** Sends the answer to a write that waits. */
  answer(): void
}
const RETRY_MS = 2_000
const LIMIT_MS = 10_000

test('a lease is renewed every two seconds and keeps its holder', async t => {
  const { server, clock, tick, end } = await start(t)
  for (let times = 0; times < 10; times++) await tick()
  assert.equal(server.lease?.spec.renewTime, `${new Date(clock.now()).toISOString().slice(0, -1)}000Z`)
  assert.equal(server.lease?.spec.leaseTransitions, 0)
  await end()
  assert.equal(server.lease?.spec.holderIdentity, '')
})

test('a holder whose renewals fail for ten seconds loses the lease', async t => {
  const { server, clock, tick, signal, run } = await start(t)
  await tick()
  server.mode = 'refuse'
  for (let times = 0; times < 4; times++) await tick()
  assert.equal(signal.aborted, false)
  clock.advance(RETRY_MS)
  await assert.rejects(run, { reason: 'LeaseLost', message: 'The lease could not be renewed for 10 s' })
  assert.equal(signal.aborted, true)
})

test('a holder whose clock is set back loses the lease after ten seconds, too', async t => {
  const { server, clock, tick, signal, run } = await start(t)
  await tick()
  server.mode = 'refuse'
  clock.setBack(60_000)
  for (let times = 0; times < 4; times++) await tick()
  assert.equal(signal.aborted, false)
  const isLost = assert.rejects(run, { reason: 'LeaseLost' })
  clock.advance(RETRY_MS)
  await until(() => signal.aborted)
  await isLost
})

test('a candidate whose clock is set back takes a lease that was not renewed for fifteen seconds', async t => {
  const { server, clock, client } = await serve(t)
  const stop = new AbortController()
  const metadata = { namespace: 'ns', name: 'leader', resourceVersion: '0' }
  const spec = { holderIdentity: 'gone', renewTime: '', leaseTransitions: 0 }
  server.lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec }
  const run = leadWhileHolding(options(client, clock), async () => stop.abort(), stop.signal)
  await until(() => clock.pauses() > 0)
  clock.setBack(60_000)
  for (let seconds = 0; seconds < 16; seconds += 2) {
    const before = clock.pauses()
    clock.advance(RETRY_MS)
    await until(() => clock.pauses() > before || stop.signal.aborted)
  }
  assert.equal(stop.signal.aborted, true)
  await run
})

test('a holder whose renewal gets no answer loses the lease after ten seconds, too', async t => {
  const { server, clock, tick, signal, run } = await start(t)
  await tick()
  server.mode = 'hang'
  clock.advance(RETRY_MS)
  await until(() => clock.pending() > 0)
  clock.advance(LIMIT_MS - RETRY_MS - 1)
  await turn()
  assert.equal(signal.aborted, false)
  clock.advance(1)
  await assert.rejects(run, { reason: 'LeaseLost' })
  assert.equal(signal.aborted, true)
})

test('a short failure does not lose the lease', async t => {
  const { server, clock, tick, signal, end } = await start(t)
  server.mode = 'refuse'
  await tick()
  await tick()
  server.mode = 'serve'
  await tick()
  for (let times = 0; times < 3; times++) await tick()
  assert.deepEqual([signal.aborted, clock.now()], [false, 6 * RETRY_MS])
  await end()
})

test('a renewal whose answer was lost does not lose the lease, although the next one conflicts', async t => {
  const { server, tick, signal, end } = await start(t)
  server.mode = 'write and break'
  await tick()
  server.mode = 'serve'
  for (let times = 0; times < 4; times++) await tick()
  assert.deepEqual([signal.aborted, server.lease?.spec.holderIdentity], [false, 'me'])
  await end()
})

test('a lease that was deleted is created again', async t => {
  const { server, tick, signal, end } = await start(t)
  server.forget()
  await tick()
  await tick()
  assert.deepEqual([signal.aborted, server.lease?.spec.holderIdentity], [false, 'me'])
  await end()
})

test('work that fails releases the lease, and its error reaches the caller', async t => {
  const { server, clock, client } = await serve(t)
  const fail = () => Promise.reject(new Error('a bug'))
  await assert.rejects(leadWhileHolding(options(client, clock), fail, new AbortController().signal), /a bug/)
  assert.equal(server.lease?.spec.holderIdentity, '')
})

test('a candidate that is stopped while it waits never leads', async t => {
  const { server, clock, client } = await serve(t)
  const stop = new AbortController()
  server.mode = 'refuse'
  const run = leadWhileHolding(options(client, clock), () => assert.fail('leads'), stop.signal)
  await until(() => clock.pending() > 0)
  stop.abort()
  await run
})

test('a candidate that is stopped while it takes the lease does not lead, and releases it', async t => {
  const { server, stop, run } = await startTaking(t)
  stop.abort()
  server.mode = 'serve'
  server.answer()
  await run
  assert.equal(server.lease?.spec.holderIdentity, '')
})

test('a candidate that is stopped while it takes the lease releases it although the answer is lost', async t => {
  const { server, stop, run } = await startTaking(t)
  stop.abort()
  server.mode = 'write and break'
  server.answer()
  await turn()
  server.mode = 'serve'
  await run
  assert.equal(server.lease?.spec.holderIdentity, '')
})

test('a candidate that is stopped after the answer to its write was lost releases the lease', async t => {
  const { server, clock, stop, run } = await startTaking(t)
  server.mode = 'write and break'
  server.answer()
  await until(() => clock.pauses() > 0)
  server.mode = 'serve'
  stop.abort()
  await run
  assert.equal(server.lease?.spec.holderIdentity, '')
})

/** Starts a candidate whose write of the lease has arrived and is not answered yet. It must not lead. */
async function startTaking(t: TestContext) {
  const { server, clock, client } = await serve(t)
  const stop = new AbortController()
  server.mode = 'write and wait'
  const run = leadWhileHolding(options(client, clock), () => assert.fail('leads'), stop.signal)
  await until(() => server.lease !== undefined)
  return { server, clock, stop, run }
}

/** Starts a candidate that leads. `tick` advances the clock to the next renewal and waits until that has finished. */
async function start(t: TestContext) {
  const { server, clock, client } = await serve(t)
  const stop = new AbortController()
  const leading = Promise.withResolvers<AbortSignal>()
  const work = (signal: AbortSignal) => {
    leading.resolve(signal)
    return once(signal, 'abort').then(() => {})
  }
  const run = leadWhileHolding(options(client, clock), work, stop.signal)
  const signal = await leading.promise
  await until(() => clock.pauses() > 0)
  const tick = async () => {
    const before = clock.pauses()
    clock.advance(RETRY_MS)
    await until(() => clock.pauses() !== before)
  }
  const end = async () => {
    stop.abort()
    await run
  }
  return { server, clock, signal, run, tick, end }
}

function options(client: KubeClient, clock: ReturnType<typeof countingClock>) {
  const log = createLog({ level: 'silent' })
  return { client, clock, log, namespace: 'ns', name: 'leader', identity: 'me', random: () => 0 }
}

/** Counts how often the candidate began to wait for its next attempt. */
function countingClock() {
  const clock = createManualClock()
  return { ...clock, pauses: () => clock.started(RETRY_MS) }
}

async function serve(t: TestContext) {
  const waiting = Promise.withResolvers<void>()
  const state: State = {
    lease: undefined,
    mode: 'serve',
    forget: () => {
      state.lease = undefined
    },
    answer: () => waiting.resolve(),
  }
  let version = 0
  const server = createServer(async (request, response) => {
    const sent = request.method === 'GET' ? undefined : (JSON.parse(await text(request)) as Lease)
    if (state.mode === 'hang') return
    if (state.mode === 'refuse') return void response.writeHead(503).end()
    const [status, reason] = verdict(request.method, sent, state.lease)
    if (sent && status === 200)
      state.lease = { ...sent, metadata: { ...sent.metadata, resourceVersion: String(++version) } }
    if (sent && state.mode === 'write and wait') await waiting.promise
    if (state.mode === 'write and break') return void response.destroy()
    response.writeHead(status).end(JSON.stringify(status === 200 ? state.lease : { code: status, reason }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const access = { server: address, namespace: 'ns', credentials: async () => ({ headers: {}, tls: {} }) }
  const client = new KubeClient(access)
  t.after(async () => {
    await client.close()
    server.closeAllConnections()
    server.close()
  })
  return { server: state, clock: countingClock(), client }
}

function verdict(
  method: string | undefined,
  sent: Lease | undefined,
  lease: Lease | undefined,
): [number, string] {
  if (method === 'POST') return lease ? [409, 'AlreadyExists'] : [200, '']
  if (!lease) return [404, 'NotFound']
  const isOld = sent && sent.metadata.resourceVersion !== lease.metadata.resourceVersion
  return isOld ? [409, 'Conflict'] : [200, '']
}

const turn = () => new Promise(resolve => setImmediate(resolve))
