/** How many logins one address may begin, and that others are not affected. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { createLoginShares } from './login-shares.ts'

test('an address may begin 8 logins at once, and others may begin theirs meanwhile', () => {
  const shares = createLoginShares(createManualClock())
  const running = Array.from({ length: 8 }, () => shares.enter('10.0.0.1'))
  assert.ok(running.every(entered => 'leave' in entered))
  assert.deepEqual(shares.enter('10.0.0.1'), {
    waitMs: 1_000,
    text: '8 logins of an address at once',
  })
  assert.ok('leave' in shares.enter('10.0.0.2'))
  const [first] = running
  if (first && 'leave' in first) first.leave()
  assert.ok('leave' in shares.enter('10.0.0.1'))
})

test('an address may begin 30 logins a minute; of IPv6, a whole network', () => {
  const clock = createManualClock()
  const shares = createLoginShares(clock)
  const begin = (address: string) => {
    const entered = shares.enter(address)
    if ('leave' in entered) entered.leave()
    return entered
  }
  for (let at = 0; at < 30; at++) assert.ok('leave' in begin(`2001:db8::${at}`))
  assert.deepEqual(begin('2001:db8::ffff'), { waitMs: 2_000, text: '30 logins of an address a minute' })
  assert.ok('leave' in begin('2001:db8:0:1::1'))
  clock.advance(2_000)
  assert.ok('leave' in begin('2001:db8::1'))
  assert.ok('text' in begin('2001:db8::1'))
})
