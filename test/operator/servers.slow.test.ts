/** Servers from manifest to Ready, and their lists through changes and failures: a real API server, real MCP servers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1ConfigMap, V1Secret } from '@kubernetes/client-node'
import { readCatalog } from '../../core/kube/catalog.ts'
import type { Kube } from '../../core/kube/object.ts'
import { REFRESH_ANNOTATION } from '../../crds/annotations.ts'
import { apiServerOfTests, skipApiServer } from '../support/api-server.ts'
import { until } from '../support/until.ts'
import { CLIENT_ID, CLIENT_SECRET, startOAuthServer } from '../upstreams/http/oauth-server.ts'
import { answer, raw, startRude, stream } from '../upstreams/http/rude.ts'
import { startSdk1 } from '../upstreams/http/sdk1.ts'
import { conditionOf, createWorld, isReady, reasonOf } from './world.ts'

const skip = skipApiServer()
const INTERVAL_MS = 10 * 60_000
const tools = (...names: string[]) =>
  answer({
    tools: names.map(name => ({ name, description: `Does ${name}`, inputSchema: { type: 'object' } })),
  })

const api = apiServerOfTests(skip)

test('a remote server is ready after discovery, and its list is in slices', { skip }, async t => {
  const upstream = await startSdk1('stateful')
  t.after(() => upstream.close())
  const world = await createWorld(t, api().access, 'ready')
  await world.server('sdk', { remote: { url: upstream.url } })
  const { status } = await world.until('sdk', server => isReady(server) && server.status?.resources === 1)
  const { tools, protocol, endpoint } = status ?? {}
  assert.deepEqual([tools?.count, tools?.invalid, protocol, endpoint], [6, 0, '2025-11-25', upstream.url])
  const catalog = await readCatalog(world.client, 'ready', 'sdk', undefined, t.signal)
  assert.equal(catalog.digest, tools?.digest)
  assert.deepEqual([catalog.resources.length, status?.resources, status?.prompts], [1, 1, 1])
})

test('a server that answers 401 has the reason AuthRequired, and is ready once its Secret exists', {
  skip,
}, async t => {
  const upstream = await startSdk1('stateful', { accepts: token => token === 'right' })
  t.after(() => upstream.close())
  const world = await createWorld(t, api().access, 'credentials')
  await world.server('guarded', { remote: { url: upstream.url } })
  const refused = await world.until('guarded', server => reasonOf(server, 'Ready') === 'AuthRequired')
  assert.equal(reasonOf(refused, 'ToolsDiscovered'), 'AuthRequired')
  assert.equal(reasonOf(refused, 'Accepted'), 'Accepted')

  const headers = [{ name: 'Authorization', valueFrom: { secretKeyRef: { name: 'login', key: 'bearer' } } }]
  await world.server('guarded', { remote: { url: upstream.url }, headers })
  await world.until('guarded', server => reasonOf(server, 'Accepted') === 'SecretNotFound')
  await world.apply(secret('login', { wrong: 'x' }))
  await world.until('guarded', server => reasonOf(server, 'Accepted') === 'KeyNotFound')
  await world.apply(secret('login', { bearer: 'Bearer right' }))
  await world.until('guarded', isReady)
  await world.apply(secret('login', { bearer: 'Bearer wrong' }))
  await world.until('guarded', server => reasonOf(server, 'Ready') === 'AuthRequired')
})

test('a server behind OAuth is discovered with a token for the client secret', { skip }, async t => {
  const oauth = await startOAuthServer()
  const upstream = await startSdk1('stateful', { accepts: oauth.accepts })
  t.after(() => Promise.all([upstream.close(), oauth.close()]))
  const world = await createWorld(t, api().access, 'oauth')
  await world.apply(secret('client', { secret: CLIENT_SECRET }))
  const clientSecretRef = { name: 'client', key: 'secret' }
  await world.server('sdk', {
    remote: { url: upstream.url },
    auth: { oauth: { tokenUrl: oauth.tokenUrl, clientId: CLIENT_ID, clientSecretRef } },
  })
  await world.until('sdk', isReady)
})

test('a list is read again after a notification of the server, a new annotation, or the refresh interval', {
  skip,
}, async t => {
  const upstream = await startSdk1('stateful')
  const rude = await startRude({ 'tools/list': tools('one') })
  t.after(() => Promise.all([upstream.close(), rude.close()]))
  const world = await createWorld(t, api().access, 'again')
  const asked = () => rude.log.filter(entry => entry === 'POST tools/list').length
  await world.server('sdk', { remote: { url: upstream.url } })
  await world.server('rude', { remote: { url: rude.url } })
  await world.until('sdk', isReady)
  await world.until('rude', isReady)
  assert.equal(asked(), 1)

  await upstream.logged('GET')
  upstream.addTool('new')
  await world.until('sdk', ({ status }) => status?.tools?.count === 7)

  await world.server('rude', { remote: { url: rude.url } }, { annotations: { [REFRESH_ANNOTATION]: '1' } })
  await logged(rude.log, 'POST tools/list', 2)
  world.clock.advance(INTERVAL_MS * 1.2)
  await logged(rude.log, 'POST tools/list', 3)
})

test('the last good list is kept while discovery fails, and the server is ready again afterwards', {
  skip,
}, async t => {
  const behaviours = { 'tools/list': tools('one', 'two') }
  const rude = await startRude(behaviours)
  t.after(() => rude.close())
  const world = await createWorld(t, api().access, 'failures')
  await world.server('rude', { remote: { url: rude.url } })
  const { status: good } = await world.until('rude', isReady)
  behaviours['tools/list'] = raw(200, 'application/json', 'garbage')
  world.clock.advance(INTERVAL_MS * 1.2)
  const failed = await world.until('rude', server => reasonOf(server, 'Ready') === 'DiscoveryFailed')
  assert.deepEqual(failed.status?.tools, good?.tools)
  const kept = await readCatalog(world.client, 'failures', 'rude', undefined, t.signal)
  assert.equal(kept.digest, good?.tools?.digest)
  behaviours['tools/list'] = tools('one', 'two')
  world.clock.advance(INTERVAL_MS)
  const { status: mended } = await world.until('rude', isReady)
  assert.deepEqual(mended?.tools, good?.tools)
})

test('a manifest that selects other tools of the same list takes effect without a request to the server', {
  skip,
}, async t => {
  const rude = await startRude({ 'tools/list': tools('one', 'two', 'three') })
  t.after(() => rude.close())
  const world = await createWorld(t, api().access, 'policy')
  await world.server('rude', { remote: { url: rude.url } })
  const { status: all } = await world.until('rude', isReady)
  world.clock.advance(60_000)
  const description = 'Something much longer than what the server itself says of its tool, for a change'
  await world.server('rude', {
    remote: { url: rude.url },
    tools: { deny: ['t*'], overrides: { one: { description } } },
  })
  const { status } = await world.until('rude', server => isReady(server) && server.status?.tools?.count === 1)
  assert.equal(status?.tools?.digest, all?.tools?.digest)
  assert.ok((status?.tools?.tokens ?? 0) > (all?.tools?.tokens ?? 0) / 3 + 5, 'the description is counted')
  assert.equal(conditionOf(status, 'ToolsDiscovered')?.observedGeneration, 2)
  assert.equal(
    conditionOf(status, 'Ready')?.lastTransitionTime,
    conditionOf(all, 'Ready')?.lastTransitionTime,
    'it was ready all the time',
  )
  assert.equal(rude.log.filter(entry => entry === 'POST tools/list').length, 1)
})

test('a server on a closed port is Unreachable, and a suspended one is not discovered', {
  skip,
}, async t => {
  const rude = await startRude({ 'tools/list': tools('one') })
  t.after(() => rude.close())
  const gone = await startRude({})
  await gone.close()
  const world = await createWorld(t, api().access, 'absent')
  await world.server('gone', { remote: { url: gone.url } })
  await world.server('off', { remote: { url: rude.url }, suspend: true })
  await world.until('gone', server => reasonOf(server, 'Ready') === 'Unreachable')
  const off = await world.until('off', server => reasonOf(server, 'Ready') === 'Suspended')
  assert.equal(reasonOf(off, 'ToolsDiscovered'), undefined)
  assert.deepEqual(rude.log, [])
  await world.server('off', { remote: { url: rude.url }, suspend: false })
  await world.until('off', isReady)
})

test('the session at a deleted server is ended, and its name can be used again', { skip }, async t => {
  const upstream = await startSdk1('stateful')
  t.after(() => upstream.close())
  const world = await createWorld(t, api().access, 'deleted')
  await world.server('sdk', { remote: { url: upstream.url } })
  await world.until('sdk', isReady)
  await upstream.logged('GET')
  await world.delete('McpServer', 'sdk')
  await upstream.logged('DELETE')
  // Nothing here deletes what a deleted object owned, as a whole cluster would.
  await world.delete('ConfigMap', 'sdk-catalog-0')
  await world.server('sdk', { remote: { url: upstream.url } })
  await world.until('sdk', isReady)
})

test('the list of a server that constantly sends list_changed is read about once a second at most', {
  skip,
}, async t => {
  const rude = await startRude({
    initialize: (response, { id }) => {
      const capabilities = { tools: { listChanged: true } }
      const serverInfo = { name: 'rude', version: '1' }
      const result = { protocolVersion: '2025-11-25', capabilities, serverInfo }
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'one' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    },
    GET: stream(response => {
      const method = 'notifications/tools/list_changed'
      const write = () => response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method })}\n\n`)
      const timer = setInterval(write, 10)
      response.on('close', () => clearInterval(timer))
    }),
    'tools/list': tools('one'),
  })
  t.after(() => rude.close())
  const world = await createWorld(t, api().access, 'noisy')
  await world.server('noisy', { remote: { url: rude.url } })
  const started = performance.now()
  await logged(rude.log, 'POST tools/list', 3)
  const asked = rude.log.filter(entry => entry === 'POST tools/list').length
  assert.ok(asked <= 2 + (performance.now() - started) / 1_000, `asked ${asked} times`)
})

test('deleted slices are written again', { skip }, async t => {
  const rude = await startRude({ 'tools/list': tools('one') })
  t.after(() => rude.close())
  const world = await createWorld(t, api().access, 'slices')
  await world.server('rude', { remote: { url: rude.url } })
  await world.until('rude', isReady)
  await world.delete('ConfigMap', 'rude-catalog-0')
  await until(() => world.get<Kube<V1ConfigMap>>('v1', 'ConfigMap', 'rude-catalog-0'))
})

test('changed labels and annotations of slices are restored, without recreating the slices', {
  skip,
}, async t => {
  const rude = await startRude({ 'tools/list': tools('one') })
  t.after(() => rude.close())
  const world = await createWorld(t, api().access, 'stripped')
  await world.server('rude', { remote: { url: rude.url } })
  await world.until('rude', isReady)
  const slice = () => world.get<Kube<V1ConfigMap>>('v1', 'ConfigMap', 'rude-catalog-0')
  const made = await slice()
  const bare = { 'app.kubernetes.io/component': null, 'app.kubernetes.io/managed-by': null }
  const metadata = { labels: bare, annotations: { 'portolan.dev/catalog-digest': null } }
  const patch = JSON.stringify({ metadata })
  await api().kubectl(['patch', 'configmap/rude-catalog-0', '-n', 'stripped', '--type=merge', '-p', patch])
  const mended = await until(async () => {
    const now = await slice()
    return now?.metadata.annotations?.['portolan.dev/catalog-digest'] ? now : undefined
  })
  assert.equal(mended?.metadata.uid, made?.metadata.uid)
  assert.deepEqual(mended?.metadata.labels, made?.metadata.labels)
})

function secret(name: string, values: Record<string, string>): Kube<V1Secret> {
  const data = Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')])
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, data: Object.fromEntries(data) }
}

async function logged(log: readonly string[], entry: string, count: number): Promise<void> {
  await until(async () => log.filter(other => other === entry).length >= count || undefined)
}
