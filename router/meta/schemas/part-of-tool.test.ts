/** The answer for a part that a schema does not have. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFixture } from '../../../test/meta/fixture.ts'
import { createOnce } from '../once.ts'
import { findPart } from './part-of-tool.ts'

test('for a missing part of a schema the nearest names are shown, and no call is counted', () => {
  const names = Array.from({ length: 60 }, (_, at) => `field_${at}`)
  const inputSchema = {
    type: 'object' as const,
    properties: Object.fromEntries([...names, 'pipeline'].map(name => [name, { type: 'string' }])),
  }
  const tools = [
    { name: 'wide', inputSchema },
    { name: 'bare', inputSchema: { type: 'object' as const } },
  ]
  const catalog = createFixture({ forge: { offers: { tools } } }).catalog()
  const refusal = (query: string) => {
    const found = findPart({ catalog, once: createOnce() }, query)
    assert.ok(found && 'refusal' in found, query)
    assert.deepEqual([found.outcome, found.server, found.tool], ['rejected', undefined, undefined])
    return found.refusal
  }
  assert.match(refusal('forge:wide#/properties/pipelin'), /It has: pipeline, .* and 49 more\.$/)
  assert.match(refusal('forge:wide#/fild_59'), /It has: field_59, /)
  assert.match(refusal('forge:bare#/any'), /It has: no properties\.$/)
})
