/** Upstreams that change their era while we run. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CallOptions, callOf } from '../../../../test/support/call.ts'
import { startAskingModern } from '../../../../test/upstreams/http/asking-modern.ts'
import { raw, startRude } from '../../../../test/upstreams/http/rude.ts'
import { startSdk1 } from '../../../../test/upstreams/http/sdk1.ts'
import { systemClock } from '../../../async.ts'
import type { Era } from '../../protocol/revisions.ts'
import type { Upstream, UpstreamEvent } from '../../upstream.ts'
import type { RemoteSpec } from './spec.ts'
import { createHttpUpstream } from './streamable.ts'

const ERAS: Era[] = ['legacy', 'modern', 'modern', 'legacy', 'legacy', 'modern']
const never = new AbortController().signal

type Test = { after(run: () => Promise<unknown>): void }
type Server = { url: string; close(): Promise<void> }

function upstreamOf(t: Test, server: Server, sessions: RemoteSpec['sessions']): Upstream {
  const spec = { url: server.url, transport: 'streamable-http', sessions, startTimeoutMs: 5_000 } as const
  const upstream = createHttpUpstream(spec, { clock: systemClock })
  t.after(() => Promise.all([upstream.close(), server.close()]))
  return upstream
}

function call(upstream: Upstream, name: string, more: CallOptions = {}) {
  return upstream.request(callOf({ params: { name }, ...more }), never)
}

/** A server that speaks one era at a time; `era` may be changed, `done` lists the era of each call. */
async function startChanging(era: Era) {
  const changing = { era, done: [] as Era[] }
  const server = await startRude({
    'server/discover': (response, { id }, request) =>
      changing.era === 'modern'
        ? json(200, { jsonrpc: '2.0', id, result: DISCOVERED })(response, {}, request)
        : json(400, NO_SESSION)(response, {}, request),
    initialize: (response, { id }, request) =>
      changing.era === 'legacy'
        ? json(200, { jsonrpc: '2.0', id, result: INITIALIZED })(response, {}, request)
        : json(400, { jsonrpc: '2.0', id, error: UNSUPPORTED })(response, {}, request),
    'tools/call': (response, { id }, request) => {
      const spoken = request.headers['mcp-protocol-version'] === '2026-07-28' ? 'modern' : 'legacy'
      if (spoken !== changing.era)
        return json(400, changing.era === 'modern' ? { jsonrpc: '2.0', id, error: UNSUPPORTED } : NO_SESSION)(
          response,
          {},
          request,
        )
      changing.done.push(spoken)
      json(200, { jsonrpc: '2.0', id, result: {} })(response, {}, request)
    },
  })
  return { server, changing }
}

test('a server that is upgraded is called in the newer era, and one that is downgraded in the older', async t => {
  const { server, changing } = await startChanging('legacy')
  const upstream = upstreamOf(t, server, 'shared')
  const events: UpstreamEvent[] = []
  upstream.onEvent(event => event.kind === 'listChanged' && events.push(event))
  for (const next of ERAS) {
    changing.era = next
    assert.ok((await call(upstream, 'any')).result)
    assert.equal((await upstream.connect(never)).era ?? 'legacy', next)
  }
  assert.deepEqual(changing.done, ERAS)
  assert.equal(events.length, 3)
})

test('no call of a client with its own session fails while its server changes era', async t => {
  const { server, changing } = await startChanging('modern')
  const upstream = upstreamOf(t, server, 'perClient')
  for (const next of ERAS) {
    changing.era = next
    for (const client of ['ann', 'bob', 'ann', undefined])
      assert.ok((await call(upstream, 'any', { client })).result)
  }
  assert.deepEqual(
    changing.done,
    ERAS.flatMap(era => Array(4).fill(era)),
  )
})

test('each client has its own session after its server is downgraded', async t => {
  const newer = await startAskingModern('modern')
  const upstream = upstreamOf(t, newer, 'perClient')
  for (const client of ['ann', 'bob']) await call(upstream, 'echo', { client })
  await newer.close()
  await assert.rejects(
    upstream.request(callOf({ method: 'tools/list', client: 'ann', maxBytes: 1e6 }), never),
  )
  const older = await startSdk1('stateful', { port: newer.port })
  t.after(older.close)
  const count = async (client: string) => (await call(upstream, 'count', { client })).result?.content
  const counts: unknown[] = []
  // The first call may still use the shared session.
  await count('ann').catch(() => {})
  for (const client of ['ann', 'bob', 'bob']) counts.push(await count(client))
  const texts = counts.map(content => (content as { text: string }[])[0]?.text)
  assert.deepEqual(texts.slice(1), ['1', '2'])
})

const DISCOVERED = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
const INITIALIZED = { protocolVersion: '2025-11-25', capabilities: { tools: {} } }
const UNSUPPORTED = { code: -32022, message: 'no', data: { supported: ['2026-07-28'] } }
const NO_SESSION = {
  jsonrpc: '2.0',
  id: null,
  error: { code: -32000, message: 'Bad Request: Server not initialized' },
}

function json(status: number, body: unknown) {
  return raw(status, 'application/json', JSON.stringify(body))
}
