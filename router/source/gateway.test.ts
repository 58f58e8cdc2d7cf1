/** How often a sidecar asks its gateway. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createLog } from '../../core/log.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { createGatewaySource } from './gateway.ts'

const TURNS = 200

test('replicas that never agree on what is the same are not asked without a pause', async t => {
  let asked = 0
  const server = createServer((_request, response) => {
    const index = { generation: 7, config: { gateway: {}, servers: [] }, catalogs: {} }
    response.writeHead(200, { 'content-type': 'application/json', etag: `"${++asked}"` })
    response.end(JSON.stringify(index))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const clock = createManualClock()
  const source = createGatewaySource({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: async () => 'token',
    log: createLog({ level: 'silent' }),
    clock,
  })
  const stop = new AbortController()
  const running = source.run(stop.signal)
  t.after(async () => {
    stop.abort()
    await running
    server.closeAllConnections()
    server.close()
  })
  const settle = async () => {
    for (let turn = 0; turn < TURNS; turn++) await nextTurn()
  }
  while (asked < 2) await nextTurn()
  await settle()
  assert.equal(asked, 2)
  clock.advance(1_000)
  while (asked < 3) await nextTurn()
  await settle()
  assert.equal(asked, 3)
})
