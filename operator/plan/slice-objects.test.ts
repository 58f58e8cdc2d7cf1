/** Slices as ConfigMaps. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { decodeSlices, encodeSlices, readSlice } from '../../core/catalog/slices.ts'
import { API_VERSION } from '../../crds/object-meta.ts'
import { mcpServerSchema } from '../../crds/server.ts'
import { sliceObjects } from './slice-objects.ts'

const MAX_OBJECT_BYTES = 2 ** 20
const server = mcpServerSchema.parse({
  apiVersion: API_VERSION,
  kind: 'McpServer',
  metadata: { name: 'git', namespace: 'team' },
  spec: { npm: { package: 'a' } },
})

test('slices written as ConfigMaps are read back, and each fits', () => {
  const catalog: ServerCatalog = {
    server: 'git',
    protocol: '2025-11-25',
    instructions: randomBytes(1_500_000).toString('base64'),
    capabilities: {},
    tools: [],
    invalid: [],
    resources: [],
    resourceTemplates: [],
    prompts: [],
    incomplete: [],
    digest: 'abc',
  }
  const objects = sliceObjects(server, encodeSlices(catalog))
  assert.deepEqual(
    objects.map(({ metadata }) => metadata.name),
    ['git-catalog-0', 'git-catalog-1', 'git-catalog-2'],
  )
  for (const { metadata, data, binaryData } of objects) {
    assert.equal(metadata.namespace, 'team')
    assert.deepEqual(metadata.annotations, {
      'portolan.dev/catalog-digest': 'abc',
      'portolan.dev/catalog-parts': '3',
    })
    assert.ok(JSON.stringify({ data, binaryData }).length < MAX_OBJECT_BYTES)
  }
  assert.deepEqual(decodeSlices(objects.map(readSlice)), catalog)
})
