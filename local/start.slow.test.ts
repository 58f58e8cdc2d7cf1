/** The start with cached lists: they are all in the first catalog, and remote servers are read again only after it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway } from '../test/support/local-gateway.ts'
import { createWorkspace } from '../test/support/manifests.ts'
import { createManualClock } from '../test/support/manual-clock.ts'
import { until } from '../test/support/until.ts'
import { answer, startRude } from '../test/upstreams/http/rude.ts'

test('the first catalog has all cached lists, and remote servers are asked a second later', async t => {
  const server = await startRude({ 'tools/list': answer({ tools: [{ name: 'read', inputSchema: {} }] }) })
  t.after(() => server.close())
  const space = createWorkspace()
  t.after(() => space.remove())
  for (const name of ['one', 'two', 'three']) space.write(name, { remote: { url: server.url } })
  const first = await startTestGateway(space)
  await until(() => first.status().servers.every(({ discovery }) => discovery.at !== undefined))
  await first.close()
  const asked = server.log.length
  const clock = createManualClock(Date.now())
  const again = await startTestGateway(space, { clock })
  t.after(() => again.close())
  const { generation, totals } = again.catalog() ?? assert.fail()
  assert.deepEqual([generation, totals.tools, server.log.length], [1, 3, asked])
  clock.advance(1_000)
  await until(() => server.log.length > asked)
})
