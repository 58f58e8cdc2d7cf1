/** `portolan search` at gateways that run elsewhere. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createColors } from 'picocolors'
import { createLog } from '../core/log.ts'
import { startRouter } from '../router/router.ts'
import { createInProcessSource } from '../router/source/in-process-source.ts'
import { echo, type FixtureServer, snapshotOf, upstreamOf } from '../test/meta/fixture.ts'
import { SERVERS } from '../test/meta/servers.ts'
import { until } from '../test/support/until.ts'
import type { Terminal } from './output.ts'
import { searchCommand } from './search.ts'

test('the table of a search needs no status of the gateway, which those of a cluster do not show', async t => {
  const url = await startClusterRouter(t)
  assert.equal((await fetch(`${url}/debug/status`)).status, 404)
  const { terminal, printed } = createTestTerminal()
  await searchCommand(terminal).parseAsync(['create issue', '--url', url], { from: 'user' })
  assert.match(printed.join('\n'), /SCORE +TOOL +DESCRIPTION\n\d\.\d\d +\w+:/)
  assert.match(printed.join('\n'), /\d+ found in [\d.]+ ms/)
})

test('a search that finds nothing says why, as the answer to an agent does', async t => {
  const starting = { server: { status: { state: 'starting', hidden: false } } } satisfies FixtureServer
  const url = await startClusterRouter(t, { ...SERVERS, mem: starting })
  const { terminal, printed } = createTestTerminal()
  await searchCommand(terminal).parseAsync(['zzqqxx', '--url', url], { from: 'user' })
  assert.match(printed.join('\n'), /^no tool was found\nThe tools of mem are not known yet: it is starting\./)
})

async function startClusterRouter(t: TestContext, servers = SERVERS): Promise<string> {
  const source = createInProcessSource()
  source.publish(snapshotOf(servers, {}, 1))
  const log = createLog({ level: 'silent' })
  const router = await startRouter({
    source,
    connect: () => upstreamOf(echo),
    host: '127.0.0.1',
    port: 0,
    log,
  })
  t.after(() => router.close(0))
  const url = router.url.replace(/\/mcp$/, '')
  await until(async () => (await fetch(`${url}/readyz`)).status === 200)
  return url
}

/** `printed`: what a command writes to standard output. */
function createTestTerminal(): { terminal: Terminal; printed: string[] } {
  const printed: string[] = []
  const colors = createColors(false)
  const terminal: Terminal = {
    out: text => void printed.push(text),
    outRaw: text => void printed.push(text),
    err: () => {},
    errRaw: () => {},
    colors,
    errColors: colors,
    interactive: false,
    columns: () => 80,
    env: {},
  }
  return { terminal, printed }
}
