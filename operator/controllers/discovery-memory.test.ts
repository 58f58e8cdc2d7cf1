/** When a server is asked again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '../../core/errors.ts'
import { mcpServerSchema } from '../../crds/server.ts'
import { createMemory, dueAt, intervalOf, retryMs, wantedOf } from './discovery-memory.ts'
import type { Target } from './discovery-targets.ts'

function target(interval = '10m', revision?: string): Target {
  const server = mcpServerSchema.parse({
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpServer',
    metadata: { name: 'web', namespace: 'team' },
    spec: { remote: { url: 'https://example.com/mcp' }, discovery: { interval } },
  })
  const endpoint = { kind: 'http', url: 'https://example.com/mcp', transport: 'sse', revision: 'r' } as const
  return { server, endpoint, revision }
}

test('the interval of the manifest counts as it is now, and never less than a second', () => {
  const memory = { ...createMemory('u'), askedAt: 1_000, spread: 1.1 }
  assert.equal(dueAt(memory, target()), 1_000 + 660_000)
  assert.equal(dueAt(memory, target('1m')), 1_000 + 66_000)
  assert.equal(intervalOf(target('10ms')), 1_000)
})

test('a server that says that its lists changed is asked soon, but not without end', () => {
  const memory = { ...createMemory('u'), askedAt: 5_000, changed: true }
  assert.equal(dueAt(memory, target()), 6_000)
  assert.equal(dueAt({ ...memory, againMs: 200 }, target()), 5_200)
  assert.equal(dueAt({ ...memory, changedGapMs: 8_000 }, target()), 13_000)
})

test('one that fails is tried again at once, then less and less often', () => {
  const delays = (asked: Target, code: 'upstream_unreachable' | 'upstream_auth_required') =>
    [0, 1, 5, 6, 20].map(failures => retryMs({ ...createMemory('u'), failures }, asked, new Fault(code, 'x')))
  assert.deepEqual(delays(target('10m', 'pods'), 'upstream_unreachable'), [200, 400, 6_400, 12_800, 60_000])
  assert.deepEqual(delays(target(), 'upstream_unreachable'), [200, 400, 6_400, 10_000, 10_000])
  assert.deepEqual(delays(target(), 'upstream_auth_required'), [200, 400, 6_400, 12_800, 60_000])
})

test('another connection, other pods or a wish are something else to ask', () => {
  const same = wantedOf(target(), '')
  const { endpoint, ...rest } = target()
  assert.equal(wantedOf(target('1h'), ''), same)
  assert.notEqual(wantedOf(target(), '1'), same)
  assert.notEqual(wantedOf(target('10m', 'pods'), ''), same)
  assert.notEqual(wantedOf({ ...rest, endpoint: { ...endpoint, revision: 'other' } }, ''), same)
})
