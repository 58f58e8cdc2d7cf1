/** Official clients can read what a gateway lists, whatever a server sent. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  PromptSchema,
  ResourceSchema,
  ResourceTemplateSchema,
  ToolSchema,
} from '@modelcontextprotocol/sdk/types.js'
import fc from 'fast-check'
import type { JsonObject } from '../../../core/json.ts'
import { defaultCatalogs } from '../../../test/upstreams/replay/catalogs.ts'
import { listedItem } from './listed-item.ts'

const SCHEMAS = [
  ['inputSchema', ToolSchema],
  ['uri', ResourceSchema],
  ['uriTemplate', ResourceTemplateSchema],
  ['arguments', PromptSchema],
] as const

const listed = (item: JsonObject): JsonObject => JSON.parse(JSON.stringify(listedItem('forge', item)))

test('valid items are listed unchanged', () => {
  const tool = {
    name: 'a',
    title: 'A',
    inputSchema: { type: 'object', properties: { b: { type: 'string' } }, required: ['b'], $defs: {} },
    outputSchema: { type: 'object' },
    annotations: { readOnlyHint: true, vendor: 1 },
    icons: [{ src: 'https://example.com/a.png' }],
    _meta: { v: [1] },
    vendor: [null],
  }
  assert.deepEqual(listed(tool), tool)
})

test('wrong fields are left out, and a schema without the type object gets it', () => {
  const wrong = {
    title: null,
    annotations: { readOnlyHint: 'yes' },
    outputSchema: { type: 'array' },
    _meta: 1,
  }
  const inputSchema = { $schema: 'x', properties: { a: true, b: { type: 'null' } }, required: true }
  assert.deepEqual(listed({ name: 'a', ...wrong, inputSchema }), {
    name: 'a',
    inputSchema: { $schema: 'x', type: 'object', properties: { a: {}, b: { type: 'null' } } },
  })
  assert.deepEqual(listed({ uri: 'file:///x', size: '5', annotations: { lastModified: 'today' } }), {
    uri: 'forge+file:///x',
    name: 'file:///x',
  })
})

test('the official client can read the list of every recorded tool', () => {
  for (const tool of defaultCatalogs().flatMap(({ tools }) => tools))
    assert.equal(ToolSchema.safeParse(listed(tool)).error, undefined, tool.name)
})

test('clients can read whatever a server puts into its items', () => {
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom(
      { type: 'object', properties: { a: 1 } },
      { type: ['object'] },
      [{ src: 1 }],
      [{ name: 1 }],
    ),
    fc.constantFrom({ audience: ['all'] }, { priority: 2 }, { taskSupport: 'maybe' }, { title: {} }),
  )
  const names = ['name', 'title', 'description', 'mimeType', 'size', 'icons', 'arguments', 'annotations']
  const field = fc.constantFrom(...names, 'execution', 'outputSchema', '_meta')
  const item = fc.dictionary(field, value) as fc.Arbitrary<JsonObject>
  const cases = fc.property(item, fc.object({ maxDepth: 3 }), (fields, schema) => {
    for (const [key, right] of SCHEMAS) {
      const own = key === 'inputSchema' ? { inputSchema: schema as JsonObject } : { [key]: 'x' }
      const given = { ...fields, ...(key.startsWith('uri') ? {} : { name: 'x' }), ...own }
      assert.equal(right.safeParse(listed(given)).error, undefined, JSON.stringify(given))
    }
  })
  fc.assert(cases, { numRuns: 300 })
})
