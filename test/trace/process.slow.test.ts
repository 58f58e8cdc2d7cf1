/** Traces of `portolan up` and `portolan bridge` as processes, with OpenTelemetry's environment variables. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freePort } from '../support/free-port.ts'
import { createWorkspace, scriptCommand } from '../support/manifests.ts'
import { callTool } from '../support/mcp.ts'
import { startCollector } from '../support/otlp.ts'
import { startBridgeProcess, startGateway } from '../support/processes.ts'
import { spanOf, startTraced } from './gateways.ts'

const CALL = { tool_path: 'mirror:mirror', arguments: {} }

function workspace(t: { after(end: () => void): void }) {
  const space = createWorkspace()
  t.after(space.remove)
  space.write('mirror', scriptCommand('test/trace/mirror.mjs'))
  return space
}

test('a process sends its spans before it ends, under the name and with the attributes of its environment', async t => {
  const collector = await startCollector()
  t.after(collector.close)
  const { folder, cache } = workspace(t)
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20x',
    OTEL_SERVICE_NAME: 'my-laptop',
    OTEL_RESOURCE_ATTRIBUTES: 'team=platform,service.name=other',
  }
  const gateway = await startGateway([folder], { cache, env })
  t.after(gateway.stop)
  await callTool(`${gateway.url}/mcp`, 'execute_mcp_tool', CALL)
  await gateway.stop()
  const { resource } = spanOf(collector, 'my-laptop', 'tools/call mirror:mirror')
  assert.equal(resource.team, 'platform')
  assert.equal(resource['telemetry.sdk.language'], 'nodejs')
  assert.ok(resource['service.version'])
  assert.ok(collector.authorization.includes('Bearer x'))
})

test('calls succeed while the collector is down, which the log reports at most once, and a wrong sampler once', async t => {
  const { folder, cache } = workspace(t)
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}`,
    OTEL_TRACES_SAMPLER: 'sometimes',
  }
  const gateway = await startGateway([folder], { cache, env })
  t.after(gateway.stop)
  for (let count = 0; count < 20; count++) {
    const { isError } = await callTool(`${gateway.url}/mcp`, 'execute_mcp_tool', CALL)
    assert.equal(isError, undefined)
  }
  const began = performance.now()
  await gateway.stop()
  assert.ok(performance.now() - began < 15_000)
  const lines = gateway.stderr().split('\n')
  assert.equal(lines.filter(line => line.includes('OTEL_TRACES_SAMPLER must be one of')).length, 1)
  assert.ok(lines.filter(line => line.includes('traces could not be delivered')).length <= 1)
})

test('through a bridge, which makes no span, the context reaches the stdio server', async t => {
  const collector = await startCollector()
  t.after(collector.close)
  const { command } = scriptCommand('test/trace/mirror.mjs')
  const { cache } = workspace(t)
  const bridge = await startBridgeProcess([], command, cache)
  t.after(bridge.stop)
  const gateway = await startTraced(
    t,
    'gateway',
    { far: { remote: { url: `${bridge.url}/mcp` } } },
    collector,
  )
  const { content } = await callTool(gateway.url, 'execute_mcp_tool', { tool_path: 'far:mirror' })
  await gateway.end()
  const { traceId, spanId } = spanOf(collector, 'gateway', 'tools/call mirror')
  const { _meta } = JSON.parse(content[0]?.text ?? '{}')
  assert.equal(_meta.traceparent, `00-${traceId}-${spanId}-01`)
})
