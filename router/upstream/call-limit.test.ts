/** A first call that hangs ends after its own time, over every transport: the time for a start is not added to it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../core/async.ts'
import { connectRemote } from '../../core/mcp/client/connect.ts'
import { createStdioUpstream } from '../../core/mcp/client/stdio/stdio-upstream.ts'
import type { Upstream } from '../../core/mcp/upstream.ts'
import { serverOf, snapshotOf } from '../../test/meta/fixture.ts'
import { callOf } from '../../test/support/call.ts'
import { startSdk1 } from '../../test/upstreams/http/sdk1.ts'
import { rudeCommand } from '../../test/upstreams/rude/rude.ts'
import { createPool } from './pool.ts'

const LIMITS = { callTimeoutMs: 200, startTimeoutMs: 60_000, concurrency: 2, maxResultBytes: 1_024 }
/** Far beyond the call's time, far below the start's. */
const PATIENCE_MS = 20_000

type Sessions = 'shared' | 'perClient'
type Opened = { upstream: Upstream; end?: () => Promise<void> }

const TRANSPORTS: Record<string, (sessions: Sessions) => Promise<Opened>> = {
  stdio: async sessions => ({
    upstream: createStdioUpstream(
      { ...rudeCommand('polite'), sessions, startTimeoutMs: 60_000, idleAfterMs: 60_000, min: 0 },
      { clock: systemClock },
    ),
  }),
  'streamable HTTP': sessions => openRemote('stateful', 'streamable-http', sessions),
  'HTTP+SSE': sessions => openRemote('sse', 'sse', sessions),
}

for (const [transport, open] of Object.entries(TRANSPORTS))
  for (const sessions of ['shared', 'perClient'] as const)
    test(`${transport}, ${sessions}: a first call that hangs ends after the call timeout, without the start timeout`, async t => {
      const { upstream, end } = await open(sessions)
      const { signal } = new AbortController()
      await upstream.connect(signal)
      const pool = createPool({ connect: () => upstream, clock: systemClock })
      t.after(async () => {
        await pool.close()
        await end?.()
      })
      pool.update({
        ...snapshotOf({}, {}, 1).config,
        servers: [serverOf('rude', { limits: LIMITS, sessions })],
      })
      const hanging = { method: 'tools/call', params: { name: 'hang' }, client: 'ann' }
      await assert.rejects(pool.call('rude', callOf(hanging), AbortSignal.timeout(PATIENCE_MS)), {
        code: 'upstream_timeout',
      })
    })

async function openRemote(
  mode: 'stateful' | 'sse',
  transport: 'streamable-http' | 'sse',
  sessions: Sessions,
): Promise<Opened> {
  const server = await startSdk1(mode)
  const spec = { url: server.url, transport, sessions, startTimeoutMs: 60_000 }
  return { upstream: connectRemote(spec, { clock: systemClock }), end: () => server.close() }
}
