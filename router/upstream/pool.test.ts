/** Limits, breakers and replaced upstreams of a pool, with a manual clock. */
import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { Fault } from '../../core/errors.ts'
import type { McpResponse } from '../../core/mcp/protocol/json-rpc.ts'
import type { UpstreamCall } from '../../core/mcp/upstream.ts'
import { echo, serverOf } from '../../test/meta/fixture.ts'
import { callOf } from '../../test/support/call.ts'
import { call, config, LIMITS, named, start, startPending, turn } from '../../test/support/pool.ts'

const CALL = callOf({ params: { name: 'echo' } })

test('one upstream is made for a server, at its first call', async () => {
  const { pool, made } = start(echo)
  assert.deepEqual(made, [])
  await Promise.all([call(pool), call(pool), call(pool)])
  assert.deepEqual(made, ['github@1'])
  assert.equal(pool.status()[0]?.used, true)
})

test('a call to a server that the config does not name is rejected', async () => {
  const { pool } = start(echo)
  await assert.rejects(pool.call('gone', CALL, new AbortController().signal), { code: 'not_found' })
})

test('the upstream gets the caller and the limit of bytes to read', async () => {
  let sent: UpstreamCall | undefined
  const { pool } = start(given => {
    sent = given
    return { result: {} }
  })
  const { caller } = callOf({ client: 'session-1' })
  await pool.call('github', { ...CALL, caller }, caller.signal)
  assert.deepEqual([sent?.caller, sent?.maxBytes], [caller, 64 * 1_024 * 1_024])
})

test('calls beyond the limit wait in a queue, first in, first out', async () => {
  const { pool, pending, order } = startPending()
  const calls = ['a', 'b', 'c', 'd'].map(name => call(pool, name))
  await turn()
  assert.deepEqual(order, ['a', 'b'])
  assert.deepEqual([pool.status()[0]?.active, pool.status()[0]?.waiting], [2, 2])
  pending.shift()?.resolve({ result: {} })
  await turn()
  assert.deepEqual(order, ['a', 'b', 'c'])
  for (const next of pending.splice(0)) next.resolve({ result: {} })
  await turn()
  for (const next of pending.splice(0)) next.resolve({ result: {} })
  await Promise.all(calls)
  assert.deepEqual(order, ['a', 'b', 'c', 'd'])
  assert.equal(pool.status()[0]?.active, 0)
})

test('the queue is bounded in length and time', async () => {
  const { pool, clock } = startPending()
  const calls = Array.from({ length: 2 + 256 }, () => call(pool))
  for (const waiting of calls) waiting.catch(() => {})
  await assert.rejects(call(pool), { code: 'upstream_busy' })
  clock.advance(10_000)
  await assert.rejects(calls[2] as Promise<unknown>, { code: 'upstream_busy' })
  assert.equal(pool.status()[0]?.waiting, 0)
})

test('a caller that leaves is removed from the queue, or its call is cancelled', async () => {
  const { pool, order, pending } = startPending()
  const leaving = new AbortController()
  const first = pool.call('github', named('a'), leaving.signal)
  const second = call(pool, 'b')
  const third = pool.call('github', named('c'), leaving.signal)
  const fourth = call(pool, 'd')
  await turn()
  leaving.abort()
  await assert.rejects(first, { code: 'cancelled' })
  await assert.rejects(third, { code: 'cancelled' })
  await turn()
  assert.deepEqual(order, ['a', 'b', 'd'])
  for (const next of pending) next.resolve({ result: {} })
  await Promise.all([second, fourth])
  await assert.rejects(pool.call('github', CALL, leaving.signal), { code: 'cancelled' })
})

test('calls leave no listener on a signal that lives longer', async () => {
  const { pool, pending } = startPending()
  const session = new AbortController()
  const calls = ['a', 'b', 'c'].map(name => pool.call('github', named(name), session.signal))
  await turn()
  while (pending.length > 0) {
    for (const { resolve } of pending.splice(0)) resolve({ result: {} })
    await turn()
  }
  await Promise.all(calls)
  assert.equal(getEventListeners(session.signal, 'abort').length, 0)
})

test('a call ends after its timeout; for a server that must start first, the start timeout is added', async () => {
  const { pool, clock, emit } = startPending()
  const cold = call(pool)
  await turn()
  clock.advance(60_000)
  emit({ kind: 'state', state: 'ready' })
  clock.advance(29_999)
  await turn()
  assert.equal(pool.status()[0]?.active, 1)
  clock.advance(1)
  await assert.rejects(cold, { code: 'upstream_timeout' })
  const warm = call(pool)
  await turn()
  clock.advance(60_000)
  await assert.rejects(warm, { code: 'upstream_timeout' })
  assert.equal(clock.pending(), 0)
})

test('the start timeout no longer counts once the call is sent', async () => {
  let sent: (() => void) | undefined
  const { pool, clock } = start(({ onSent }) => {
    sent = onSent
    return new Promise(() => {})
  })
  const calling = call(pool)
  await turn()
  clock.advance(29_000)
  sent?.()
  clock.advance(59_999)
  await turn()
  assert.equal(pool.status()[0]?.active, 1)
  clock.advance(1)
  await assert.rejects(calling, { code: 'upstream_timeout' })
  assert.equal(clock.pending(), 0)
})

test('failures open the breaker: calls are refused at once, until a successful probe closes it', async () => {
  let broken = true
  let reached = 0
  const { pool, clock } = start(() => {
    reached++
    if (broken) throw new Fault('upstream_died', 'gone')
    return { result: {} }
  })
  for (let failure = 0; failure < 5; failure++) await assert.rejects(call(pool), { code: 'upstream_died' })
  await assert.rejects(call(pool), { code: 'upstream_open', details: { retryInMs: 5_000 } })
  assert.equal(reached, 5)
  broken = false
  clock.advance(5_000)
  assert.deepEqual(await call(pool), { result: {} })
  assert.equal(pool.status()[0]?.breaker.state, 'closed')
})

test('errors that an upstream answers, refusals and cancellations leave the breaker closed', async () => {
  const answers: (() => McpResponse)[] = [
    () => ({ error: { code: -32602, message: 'no such tool' } }),
    () => ({ result: { isError: true } }),
    () => {
      throw new Fault('upstream_too_large', 'too large')
    },
    () => {
      throw new Fault('upstream_auth_required', 'who are you')
    },
    () => {
      throw new Fault('upstream_starting', 'in backoff')
    },
  ]
  for (const answer of answers) {
    const { pool } = start(answer)
    for (let time = 0; time < 6; time++) await call(pool).catch(() => {})
    assert.equal(pool.status()[0]?.breaker.failures, 0)
  }
})

test('a changed server gets a new upstream, and the old one is closed after its calls', async () => {
  const { pool, pending, closed, made } = startPending()
  const before = call(pool, 'old')
  await turn()
  pool.update(
    config(serverOf('github', { limits: LIMITS, endpoint: { kind: 'local', id: 'github', revision: '2' } })),
  )
  const after = call(pool, 'new')
  await turn()
  assert.deepEqual([made, closed], [['github@1', 'github@2'], []])
  pending[0]?.resolve({ result: { from: 'old' } })
  assert.deepEqual(await before, { result: { from: 'old' } })
  await turn()
  assert.deepEqual(closed, ['github@1'])
  pending[1]?.resolve({ result: {} })
  await after
})

test('a call that waits for a slot of a replaced upstream is still answered by it', async () => {
  const { pool, pending, closed } = startPending()
  const calls = ['a', 'b', 'c'].map(name => call(pool, name))
  await turn()
  pool.update(config())
  for (const { resolve } of pending.splice(0)) resolve({ result: {} })
  await turn()
  assert.deepEqual([pending.length, closed], [1, []])
  pending[0]?.resolve({ result: { from: 'c' } })
  assert.deepEqual((await Promise.all(calls))[2], { result: { from: 'c' } })
  await turn()
  assert.deepEqual(closed, ['github@1'])
})

test('an old upstream is not kept longer than a call may take', async () => {
  const { pool, clock, closed } = startPending()
  call(pool).catch(() => {})
  await turn()
  pool.update(config())
  clock.advance(59_999)
  await turn()
  assert.deepEqual(closed, [])
  clock.advance(1)
  await turn()
  assert.deepEqual(closed, ['github@1'])
})

test('changed limits or labels keep the upstream, and take effect at once', async () => {
  const { pool, made, order } = startPending()
  const calls = ['a', 'b', 'c'].map(name => call(pool, name))
  for (const waiting of calls) waiting.catch(() => {})
  await turn()
  pool.update(config(serverOf('github', { title: 'GitHub', limits: { ...LIMITS, concurrency: 4 } })))
  await turn()
  call(pool, 'd').catch(() => {})
  await turn()
  assert.deepEqual([made, order], [['github@1'], ['a', 'b', 'c', 'd']])
  await pool.close()
})

test('the upstream of a suspended server is closed, and calls to the server are rejected', async () => {
  const { pool, closed } = start(echo)
  await call(pool)
  pool.update(config(serverOf('github', { status: { state: 'suspended', hidden: true } })))
  await turn()
  assert.deepEqual(closed, ['github@1'])
  await assert.rejects(call(pool), { code: 'not_found' })
})

test('calls that wait while the pool is closed are rejected', async () => {
  const { pool, pending } = startPending()
  const calls = ['a', 'b', 'c'].map(name => call(pool, name))
  await turn()
  await pool.close()
  for (const { reject } of pending) reject(new Fault('upstream_died', 'closed'))
  for (const waiting of calls) await assert.rejects(waiting, { code: 'upstream_died' })
})

test('close closes all upstreams, also those being replaced', async () => {
  const { pool, closed } = startPending()
  call(pool).catch(() => {})
  await turn()
  pool.update(config(serverOf('github', { endpoint: { kind: 'local', id: 'github', revision: '2' } })))
  call(pool).catch(() => {})
  await turn()
  await pool.close()
  assert.deepEqual(closed.sort(), ['github@1', 'github@2'])
})
