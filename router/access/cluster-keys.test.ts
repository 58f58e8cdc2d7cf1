/** Tokens that wait while the keys of the API server are read again: how long, and what is left of the wait. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { createClusterKeys } from './cluster-keys.ts'

const MINUTES = 60_000
/** More than may wait. */
const MANY = 40

/** Keys that are due to be read again, and a read that a test ends. */
async function begin() {
  const clock = createManualClock()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let isHeld = false
  const read = async (path: string) => {
    if (isHeld) await promise
    return path.startsWith('/openid') ? { keys: [] } : { issuer: isHeld ? 'new' : 'old' }
  }
  const keys = createClusterKeys({ read, clock })
  assert.equal((await keys.current()).name, 'old')
  isHeld = true
  clock.advance(6 * MINUTES)
  const waiting = Array.from({ length: MANY }, () => keys.current())
  const names = async () => new Set((await Promise.all(waiting)).map(({ name }) => name))
  return { clock, names, resolve, reject }
}

test('when the keys have been read, no timer is left', async () => {
  const { clock, names, resolve } = await begin()
  resolve()
  assert.deepEqual(await names(), new Set(['old', 'new']))
  assert.equal(clock.pending(), 0)
})

test('if the keys cannot be read, the last ones are used, no timer is left, and no rejection is unhandled', async () => {
  const { clock, names, reject } = await begin()
  reject(new Error('the API server answered 500'))
  assert.deepEqual(await names(), new Set(['old']))
  await new Promise(resolve => setImmediate(resolve))
  assert.equal(clock.pending(), 0)
})

test('if the API server does not answer, the last keys are used after a second', async () => {
  const { clock, names } = await begin()
  clock.advance(1_000)
  assert.deepEqual(await names(), new Set(['old']))
})

test('keys age while the machine is suspended, and after a day they are no longer used', async () => {
  const clock = createManualClock()
  let isAway = false
  const read = async (path: string) => {
    if (isAway) throw new Error('the API server cannot be reached')
    return path.startsWith('/openid') ? { keys: [] } : { issuer: 'cluster' }
  }
  const keys = createClusterKeys({ read, clock })
  await keys.current()
  isAway = true
  clock.suspend(25 * 60 * MINUTES)
  await assert.rejects(keys.current(), /cannot be reached/)
  assert.equal(keys.state().state, 'unavailable')
})
