/** Children that serve a single call, because its caller has no session. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { rudeCommand, toolCall } from '../../../../test/upstreams/rude/rude.ts'
import { createStdioUpstream } from './stdio-upstream.ts'

const { signal } = new AbortController()

test('a call that succeeds ends the growing delays of earlier failed starts', async t => {
  const clock = createManualClock()
  const folder = mkdtempSync(join(tmpdir(), 'portolan-'))
  const broken = join(folder, 'broken')
  const { command, args } = rudeCommand('polite')
  const script = `if [ -e "${broken}" ]; then exit 1; fi; exec "$0" "$@"`
  const upstream = createStdioUpstream(
    {
      ...{ command: '/bin/sh', args: ['-c', script, command, ...args], env: {} },
      ...{ sessions: 'perClient', startTimeoutMs: 20_000, idleAfterMs: 180_000, min: 0 },
    },
    { clock, random: () => 0 },
  )
  t.after(async () => {
    await upstream.close()
    rmSync(folder, { recursive: true })
  })
  const call = () => upstream.request(toolCall('pid'), signal)
  for (let days = 0; days < 3; days++) {
    writeFileSync(broken, '')
    await assert.rejects(call(), { details: { reason: 'ExitedAtStart' } })
    await assert.rejects(call(), { details: { reason: 'CrashLooping', retryInMs: 500 } })
    rmSync(broken)
    clock.advance(500)
    await call()
  }
})
