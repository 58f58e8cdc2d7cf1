/** How often a sidecar asks its gateway, and which catalogs it accepts. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { packVectors, quantize } from '../../core/catalog/vectors.ts'
import { catalogVersion } from '../../core/catalog/version.ts'
import { createLog } from '../../core/log.ts'
import { catalogOf, serverOf, snapshotOf } from '../../test/meta/fixture.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { until } from '../../test/support/until.ts'
import { createGatewaySource } from './gateway-source.ts'

const TURNS = 200

test('replicas that never agree are polled with a delay', async t => {
  let asked = 0
  const server = createServer((_request, response) => {
    const index = { generation: 7, config: { gateway: {}, servers: [] }, catalogs: {} }
    response.writeHead(200, { 'content-type': 'application/json', etag: `"${++asked}"` })
    response.end(JSON.stringify(index))
  })
  const { clock } = await startSource(t, server)
  const settle = async () => {
    for (let turn = 0; turn < TURNS; turn++) await nextTurn()
  }
  await until(() => asked >= 2)
  await settle()
  assert.equal(asked, 2)
  clock.advance(1_000)
  await until(() => asked >= 3)
  await settle()
  assert.equal(asked, 3)
})

test('a catalog is read by its version: again when vectors are added, and never another one', async t => {
  const bare = catalogOf('files', { tools: [{ name: 'read', inputSchema: {} }] })
  const vectors = packVectors('hashing/1', new Map([['key', quantize([1, 0, -1])]]))
  let offered = bare
  let answered = bare
  const server = createServer((request, response) => {
    const config = snapshotOf({}, {}, 1).config
    const index = { generation: 7, config, catalogs: { files: catalogVersion(offered) } }
    const isIndex = request.url === '/catalog'
    response.setHeader('etag', JSON.stringify(index))
    response.end(
      JSON.stringify(isIndex ? { ...index, config: { ...config, servers: [serverOf('files')] } } : answered),
    )
  })
  const { source, clock, stop } = await startSource(t, server)
  const watching = source.watch(stop.signal)[Symbol.asyncIterator]()
  const seen = async () => (await watching.next()).value?.catalogs.get('files')
  assert.deepEqual(await seen(), bare)
  offered = { ...bare, vectors }
  const timer = setInterval(() => clock.advance(250), 1)
  t.after(() => clearInterval(timer))
  await until(() => source.missing().length > 0)
  answered = offered
  for (;;) {
    const catalog = await seen()
    if (catalog?.vectors) return assert.deepEqual(catalog, offered)
    assert.deepEqual(catalog, bare)
  }
})

test('an answer that is not JSON is not reported as a gateway that cannot be reached', async t => {
  const server = createServer((_request, response) => void response.end('<html>'))
  const { promise: warned, resolve } = Promise.withResolvers<string>()
  await startSource(t, server, createLog({ level: 'warn', destination: { write: resolve } }))
  assert.equal(JSON.parse(await warned).error, "The gateway's answer is not valid JSON")
})

/** A source that reads from this gateway until the test ends. */
async function startSource(t: TestContext, server: Server, log = createLog({ level: 'silent' })) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const clock = createManualClock()
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const source = createGatewaySource({ url, token: async () => 'token', log, clock })
  const stop = new AbortController()
  const running = source.run(stop.signal)
  t.after(async () => {
    stop.abort()
    await running
    server.closeAllConnections()
    server.close()
  })
  return { source, clock, stop }
}
