/** The connections of discovery: which stay open, and which are closed. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Clock, systemClock } from '../../core/async.ts'
import { endpointOf } from '../../core/catalog/endpoint.ts'
import { createRemoteGuard } from '../../core/mcp/client/remote-guard.ts'
import { type McpServerSpecInput, mcpServerSchema } from '../../crds/server.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { answer, type Behaviour, raw, startRude } from '../../test/upstreams/http/rude.ts'
import { startSdk1 } from '../../test/upstreams/http/sdk1.ts'
import type { Target } from './discovery-targets.ts'
import { MAX_STREAMS, Upstreams } from './upstreams.ts'

const client = { get: async () => undefined }

function target(url: string, spec: Partial<McpServerSpecInput> = {}): Target {
  const server = mcpServerSchema.parse({
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpServer',
    metadata: { name: 'web', namespace: 'team' },
    spec: { remote: { url }, ...spec },
  })
  const endpoint = endpointOf(server, 'cluster')
  if (endpoint.kind !== 'http') throw new Error('no endpoint over HTTP')
  return { server, endpoint }
}

function upstreams(
  t: TestContext,
  onListChanged = (_key: string) => {},
  clock: Clock = systemClock,
): Upstreams {
  const made = new Upstreams({ client, clock, onListChanged })
  t.after(() => made.closeAll())
  return made
}

/** What each discovery does with a connection: opens it, connects, and releases it. */
async function ask(made: Upstreams, key: string, asked: Target, signal: AbortSignal) {
  const upstream = await made.open(key, asked, signal)
  made.release(key, await upstream.connect(signal))
  return upstream
}

test('a remote server at an address that is not allowed is sent nothing', async t => {
  const server = await startSdk1('stateful')
  t.after(() => server.close())
  const guard = createRemoteGuard({ remoteHosts: [], refusedAddresses: [] })
  const made = new Upstreams({ client, clock: systemClock, guard, onListChanged: () => {} })
  t.after(() => made.closeAll())
  for (const host of ['127.0.0.1', 'localhost']) {
    const asked = ask(made, host, target(server.url.replace('127.0.0.1', host)), t.signal)
    await assert.rejects(asked, { message: /has an address that is not allowed in this cluster/ })
  }
  assert.deepEqual(server.log, [])
})

test('list_changed of a server is received on one connection for all discoveries', async t => {
  const server = await startSdk1('stateful')
  t.after(() => server.close())
  const changed = Promise.withResolvers<string>()
  const made = upstreams(t, changed.resolve)
  const first = await ask(made, 'team/web', target(server.url), t.signal)
  await server.logged('GET')
  assert.equal(await ask(made, 'team/web', target(server.url), t.signal), first)
  server.addTool('new')
  assert.equal(await changed.promise, 'team/web')
  const other = await ask(made, 'team/web', target(`${server.url}?other`), t.signal)
  assert.notEqual(other, first)
  await server.logged('DELETE')
})

test('a remote server that dies while idle is reported once, within a minute', async t => {
  const behaviours: Record<string, Behaviour> = { ping: answer({}) }
  const server = await startRude(behaviours)
  t.after(() => server.close())
  const clock = createManualClock()
  const reported: string[] = []
  const made = upstreams(t, key => void reported.push(key), clock)
  const asked = target(server.url, { sessions: 'perClient' })
  const upstream = await ask(made, 'team/web', asked, t.signal)
  clock.advance(33_000)
  await server.logged('POST ping')
  assert.deepEqual(reported, [])
  behaviours.ping = raw(503, 'text/plain', 'gone')
  for (let passed = 0; passed < 45 && reported.length === 0; passed++) {
    clock.advance(1_000)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  assert.deepEqual(reported, ['team/web'])
  assert.notEqual(await made.open('team/web', asked, t.signal), upstream)
})

test('a connection is closed after discovery if list_changed is not declared or sessions are per client', async t => {
  const silent = await startRude({ 'tools/list': answer({ tools: [] }) })
  const perClient = await startSdk1('stateful')
  t.after(() => Promise.all([silent.close(), perClient.close()]))
  const made = upstreams(t)
  await ask(made, 'team/silent', { ...target(silent.url), revision: '1' }, t.signal)
  await ask(
    made,
    'team/own',
    { ...target(perClient.url, { sessions: 'perClient' }), revision: '1' },
    t.signal,
  )
  await Promise.all([silent.logged('DELETE'), perClient.logged('DELETE')])
  for (const { log } of [silent, perClient]) assert.equal(log.filter(entry => entry === 'GET').length, 1)
})

test(`at most ${MAX_STREAMS} servers have a stream; the others are discovered all the same`, async t => {
  const server = await startSdk1('stateless', { json: true })
  t.after(() => server.close())
  const made = upstreams(t)
  const keys = Array.from({ length: MAX_STREAMS + 2 }, (_, at) => `team/server-${at}`)
  const asked = target(server.url)
  const opened = new Map<string, object>()
  for (const key of keys) opened.set(key, await ask(made, key, asked, t.signal))
  const again = await Promise.all(keys.map(key => made.open(key, asked, t.signal)))
  const kept = again.filter((upstream, at) => upstream === opened.get(keys[at] ?? ''))
  assert.equal(kept.length, MAX_STREAMS)
})
