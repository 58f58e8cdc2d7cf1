/** Which values of ConfigMaps are refused as headers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpointOf } from '../../core/catalog/endpoint.ts'
import { API_VERSION } from '../../crds/object-meta.ts'
import { mcpServerSchema } from '../../crds/server.ts'
import { unsendableHeaders } from './header-values.ts'
import { indexReferences } from './references.ts'

const server = mcpServerSchema.parse({
  apiVersion: API_VERSION,
  kind: 'McpServer',
  metadata: { name: 'a' },
  spec: {
    remote: { url: 'https://example.com/mcp' },
    headers: [{ name: 'X', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } }],
  },
})

function problemsOf(value: string): string[] {
  const reference = { kind: 'ConfigMap' as const, name: 'c', exists: true, digests: {}, values: { k: value } }
  return unsendableHeaders(server, indexReferences([reference])).map(({ message }) => message)
}

test('a value with a line break within it, or one that is too long, is reported', () => {
  assert.deepEqual(problemsOf('v'.repeat(8_192)), [])
  assert.match(problemsOf('a\nb')[0] ?? '', /is no header/)
  assert.match(problemsOf('v'.repeat(8_193))[0] ?? '', /more than 8192 characters/)
})

test('a value that is too long is in no endpoint', () => {
  const headersOf = (k: string) => {
    const endpoint = endpointOf(server, 'cluster', { configMaps: new Map([['c', { k }]]) })
    return endpoint.kind === 'http' ? (endpoint.headers?.length ?? 0) : undefined
  }
  assert.deepEqual([headersOf('v'.repeat(8_192)), headersOf('v'.repeat(8_193))], [1, 0])
})

test('a key that every object inherits is no value', () => {
  const configMapKeyRef = { name: 'c', key: 'constructor' }
  const spec = { ...server.spec, headers: [{ name: 'X', valueFrom: { configMapKeyRef } }] }
  const reference = { kind: 'ConfigMap' as const, name: 'c', exists: true, digests: {}, values: {} }
  assert.deepEqual(unsendableHeaders({ ...server, spec }, indexReferences([reference])), [])
  const endpoint = endpointOf({ ...server, spec }, 'cluster', { configMaps: new Map([['c', {}]]) })
  assert.deepEqual(endpoint.kind === 'http' && (endpoint.headers ?? []), [])
})
