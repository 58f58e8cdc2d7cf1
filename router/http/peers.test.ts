/** How routers find each other. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { createPeers } from './peers.ts'

test("peers are at all addresses of a DNS name except the router's own, at the router's port", async () => {
  const peers = (own?: string) => createPeers({ name: 'localhost', port: 8081, own }, createManualClock(1))()
  const all = await peers()
  assert.ok(
    all.length > 0 && all.every(origin => /^http:\/\/(?:127\.0\.0\.1|\[::1\]):8081$/.test(origin)),
    `${all}`,
  )
  const [first = ''] = all
  const { hostname } = new URL(first)
  assert.deepEqual(
    await peers(hostname.replace(/[[\]]/g, '')),
    all.filter(origin => origin !== first),
  )
})

test('a DNS name without an address is an error, since the peers are then unknown', async () => {
  const peers = createPeers(
    { name: 'tools-gateway-peers.invalid', port: 8081, own: undefined },
    createManualClock(),
  )
  await assert.rejects(peers)
})
