/** How the addresses of the API server are found. */
import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import { test } from 'node:test'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { until } from '../../test/support/until.ts'
import { apiServerAddresses } from './api-server-addresses.ts'

const failure = (code: string) => Object.assign(new Error(`getaddrinfo ${code}`), { code })

test('an address is itself, a name has those that it is resolved to, and outside of a cluster there are none', async () => {
  const clock = createManualClock()
  assert.deepEqual(await apiServerAddresses('10.96.0.1', clock), ['10.96.0.1'])
  assert.deepEqual(
    [await apiServerAddresses(undefined, clock), await apiServerAddresses('', clock)],
    [[], []],
  )
  const named = await apiServerAddresses('localhost', clock)
  assert.ok(named.length > 0 && named.every(address => isIP(address) !== 0), `${named}`)
})

test('while DNS does not answer, a name is looked up again', async () => {
  const clock = createManualClock()
  let lookups = 0
  const finding = apiServerAddresses('api.example', clock, async () => {
    if (++lookups < 3) throw failure('EAI_AGAIN')
    return [{ address: '10.96.0.1' }]
  })
  for (const times of [1, 2]) {
    await until(() => clock.pending() === 1)
    assert.equal(lookups, times)
    clock.advance(1_000)
  }
  assert.deepEqual(await finding, ['10.96.0.1'])
})

test('a failure that lasts, and a name that does not exist, are mistakes', async () => {
  const clock = createManualClock()
  const message = /^KUBERNETES_SERVICE_HOST must be an address, or a name that has one: /
  const missing = apiServerAddresses('api.example', clock, () => Promise.reject(failure('ENOTFOUND')))
  await assert.rejects(missing, { code: 'bad_request', message })
  let isOver = false
  const lasting = apiServerAddresses('api.example', clock, () => Promise.reject(failure('EAI_AGAIN')))
  const ended = assert.rejects(lasting, { code: 'bad_request', message }).finally(() => {
    isOver = true
  })
  while (!isOver) {
    await until(() => isOver || clock.pending() === 1)
    clock.advance(1_000)
  }
  await ended
  assert.ok(clock.now() >= 10_000 && clock.now() <= 12_000, `${clock.now()}`)
})
