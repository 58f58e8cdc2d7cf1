/** Failed logins are limited by address; other refusals lock nobody out. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { refused } from './bearer.ts'
import { createFailedLogins } from './failed-logins.ts'

const WRONG = refused('UnknownToken', 'The token is not known here.')

/** How many of `total` failures, from these addresses in turn, are not limited. */
function allowed(addresses: (at: number) => string, total = 100): number {
  const logins = createFailedLogins(createManualClock())
  return Array.from({ length: total }, (_, at) => logins.failed(WRONG, addresses(at))).filter(
    limited => !limited,
  ).length
}

test('an address may fail 20 times a minute, and so may a network of IPv6', () => {
  assert.equal(
    allowed(() => '10.0.0.1'),
    20,
  )
  assert.equal(
    allowed(at => `10.0.0.${at}`),
    100,
  )
  assert.equal(
    allowed(at => `2001:db8:0:1::${at.toString(16)}`),
    20,
  )
  assert.equal(
    allowed(at => `2001:db8:0:${at.toString(16)}::1`),
    100,
  )
  assert.equal(
    allowed(at => `2001:db8::${at.toString(16)}:0:0:1`),
    20,
  )
  assert.equal(
    allowed(at => `::ffff:10.0.0.${at}`),
    100,
  )
  assert.equal(
    allowed(() => 'fe80::1%eth0'),
    20,
  )
})

test('requests without a token, missing scopes and unavailable keys do not count as failures', () => {
  const logins = createFailedLogins(createManualClock())
  for (let time = 0; time < 100; time++) {
    assert.equal(logins.failed({ ...WRONG, reason: 'NoToken' }, '10.0.0.1'), undefined)
    assert.equal(logins.failed({ ...WRONG, reason: 'MissingScopes', status: 403 }, '10.0.0.1'), undefined)
    assert.equal(logins.failed({ ...WRONG, reason: 'Busy', status: 503 }, '10.0.0.1'), undefined)
  }
  assert.equal(logins.failed(WRONG, '10.0.0.1'), undefined)
})
