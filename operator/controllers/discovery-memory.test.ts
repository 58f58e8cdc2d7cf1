/** When a server has to be read again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mcpServerSchema } from '../../crds/server.ts'
import { wantedOf } from './discovery-memory.ts'
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

test('a new connection, new pods or a refresh request mean that the server is read again', () => {
  const same = wantedOf(target(), '')
  const { endpoint, ...rest } = target()
  assert.equal(wantedOf(target('1h'), ''), same)
  assert.notEqual(wantedOf(target(), '1'), same)
  assert.notEqual(wantedOf(target('10m', 'pods'), ''), same)
  assert.notEqual(wantedOf({ ...rest, endpoint: { ...endpoint, revision: 'other' } }, ''), same)
})
