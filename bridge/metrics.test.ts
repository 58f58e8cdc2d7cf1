/** The metrics of a bridge. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { legacy, post } from '../test/front/post.ts'
import { startTestBridge } from '../test/support/bridge.ts'
import { until } from '../test/support/until.ts'

test('failed processes, lines of stderr and sessions are counted', async t => {
  const { url, metricsPort } = await startTestBridge(t, { sessions: 'perClient', metricsPort: 0 })
  const read = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  const sample = async (series: string) =>
    (await read())
      .split('\n')
      .find(line => line.startsWith(`${series} `))
      ?.split(' ')[1]
  assert.equal(await sample('portolan_bridge_sessions'), '0')
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
  const { headers } = await post(url, legacy('initialize', params))
  assert.equal(await sample('portolan_bridge_sessions'), '1')
  const session = { 'mcp-session-id': headers.get('mcp-session-id') ?? '' }
  await post(url, legacy('tools/call', { name: 'die', arguments: { last: 'out of ink' } }), session)
  await until(async () => (await sample('portolan_bridge_process_failures_total{reason="Ended"}')) === '1')
  assert.equal(await sample('portolan_bridge_stderr_lines_total'), '1')
  assert.match(await read(), /portolan_build_info\{version="[\d.]+",component="bridge"\} 1/)
  assert.equal((await fetch(`http://127.0.0.1:${metricsPort}/mcp`)).status, 404)
})

test('if the metrics port is in use, the bridge serves calls without metrics', async t => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.after(() => taken.close())
  const { url, metricsPort } = await startTestBridge(t, {
    metricsPort: (taken.address() as AddressInfo).port,
  })
  assert.equal(metricsPort, undefined)
  assert.equal((await post(url, legacy('ping'))).status, 200)
})
