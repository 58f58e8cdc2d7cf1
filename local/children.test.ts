/** The servers of a laptop, as the router's pool sees them. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../core/async.ts'
import type { RouterServer } from '../core/catalog/router-config.ts'
import { createLog } from '../core/log.ts'
import { createCaller } from '../core/mcp/caller.ts'
import { connectRemote } from '../core/mcp/client/connect.ts'
import type { Upstream } from '../core/mcp/upstream.ts'
import { parseManifest } from '../crds/parse.ts'
import { callOf } from '../test/support/call.ts'
import { createManualClock } from '../test/support/manual-clock.ts'
import { until } from '../test/support/until.ts'
import { startSdk1 } from '../test/upstreams/http/sdk1.ts'
import { createApprovals } from './approvals.ts'
import { createCatalogCache } from './catalog-cache.ts'
import { Children, type DesiredServer } from './children.ts'
import { LazyUpstream } from './lazy-upstream.ts'
import { createSlots } from './start-slots.ts'

test("the sessions of a server's clients are counted, also of one that is created on first use", async t => {
  const remote = await startSdk1('stateful')
  const spec = { url: remote.url, transport: 'streamable-http', sessions: 'perClient' } as const
  const children = start(t, async () =>
    connectRemote({ ...spec, startTimeoutMs: 5_000 }, { clock: systemClock }),
  )
  t.after(() => remote.close())
  children.apply([desired(remote.url)])
  const upstream = children.connect({
    name: 'counter',
    endpoint: { kind: 'local', id: 'counter' },
  } as RouterServer)
  assert.equal(upstream.sessions?.(), 0)
  const call = callOf({ method: 'tools/call', params: { name: 'count' }, maxBytes: 1e6 })
  for (const client of ['ann', 'ben'])
    await upstream.request({ ...call, caller: createCaller({ client }) }, AbortSignal.timeout(5_000))
  assert.equal(upstream.sessions?.(), 2)
})

test('the error of a server that is woken and does not start in time says so', async t => {
  const clock = createManualClock()
  const never = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const children = start(t, never, clock)
  children.apply([desired('http://127.0.0.1:1/mcp')])
  const failed = assert.rejects(children.wake('counter'), {
    code: 'upstream_timeout',
    message: 'The server did not start within 60 s',
  })
  await until(() => clock.started(60_000) > 0)
  clock.advance(60_000)
  await failed
})

test('the end waits until a list and its approved tools are on disk', async t => {
  const remote = await startSdk1('stateful')
  t.after(() => remote.close())
  const spec = { url: remote.url, transport: 'streamable-http', sessions: 'perClient' } as const
  const real = connectRemote({ ...spec, startTimeoutMs: 5_000 }, { clock: systemClock })
  t.after(() => real.close())
  const written = Promise.withResolvers<void>()
  const begun: string[] = []
  const save = (what: string) => () => {
    begun.push(what)
    return written.promise
  }
  const upstream: Upstream = {
    connect: signal => real.connect(signal),
    request: (call, signal) => real.request(call, signal),
    onEvent: listener => real.onEvent(listener),
    close: async () => {},
  }
  const children = start(t, async () => upstream, createManualClock(), save)
  children.apply([desired(remote.url, { tools: { pin: 'Warn' } })])
  await until(() => begun.length === 2)
  assert.deepEqual(begun.sort(), ['approval', 'list'])
  let isClosed = false
  const closing = children.close().then(() => {
    isClosed = true
  })
  await new Promise(setImmediate)
  assert.equal(isClosed, false)
  written.resolve()
  await closing
})

/** `save` replaces what writes lists and approvals. */
function start(
  t: TestContext,
  make: (signal: AbortSignal) => Promise<Upstream>,
  clock = createManualClock(),
  save?: (what: string) => () => Promise<void>,
): Children {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-children-'))
  const children = new Children({
    approvals: { ...createApprovals(folder), ...(save && { save: save('approval') }) },
    launch: () => new LazyUpstream(make, clock),
    discovery: {
      clock,
      random: () => 0.5,
      countTokens: async texts => texts.map(text => text.length),
      cache: { ...createCatalogCache(folder), ...(save && { save: save('list') }) },
      starts: createSlots({ count: 1, maxHoldMs: 1_000, clock }),
      log: createLog({ level: 'silent' }),
      onChange: () => {},
      started: Promise.resolve(),
      onDiscovered: () => {},
    },
  })
  t.after(async () => {
    await children.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  return children
}

function desired(url: string, more: object = {}): DesiredServer {
  const { manifest } = parseManifest({
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpServer',
    metadata: { name: 'counter' },
    spec: { remote: { url }, sessions: 'perClient', ...more },
  })
  assert.equal(manifest?.kind, 'McpServer')
  const inputs = { env: {}, headers: {}, secrets: [], problems: [], digest: '', files: '' }
  return { server: manifest as DesiredServer['server'], folder: '.', inputs, users: [], knowsCallers: false }
}
