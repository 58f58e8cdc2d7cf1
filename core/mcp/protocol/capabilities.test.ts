/** Capabilities of clients: declared, encoded, and compared with a question. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { JsonObject } from '../../json.ts'
import { askable, capabilityCode, missingCapabilities, readCapabilityCode } from './capabilities.ts'

test('of the capabilities of a client, only elicitation, sampling and roots permit questions', () => {
  const all = {
    elicitation: {},
    sampling: {},
    roots: { listChanged: true },
    tasks: {},
    experimental: { x: {} },
  }
  const { tasks, experimental, ...asked } = all
  assert.deepEqual(askable(all), asked)
  for (const nothing of [
    undefined,
    null,
    [],
    'x',
    {},
    { roots: true, sampling: null },
    { tasks },
    { experimental },
  ])
    assert.equal(askable(nothing), undefined)
})

test('declared capabilities are written as a few letters and read back', () => {
  const member = fc.option(fc.constant({}), { nil: undefined })
  const declared = fc.record(
    {
      elicitation: fc.record({ form: member, url: member }, { requiredKeys: [] }),
      sampling: fc.record({ tools: member, context: member }, { requiredKeys: [] }),
      roots: fc.record({ listChanged: fc.constant(true) }, { requiredKeys: [] }),
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(declared, some => {
      const plain = JSON.parse(JSON.stringify(some)) as JsonObject
      const code = capabilityCode(plain)
      assert.match(code, /^[a-z]{0,8}$/)
      assert.deepEqual(readCapabilityCode(code), askable(plain))
    }),
    { seed: 1 },
  )
  assert.equal(capabilityCode({ elicitation: { form: { applyDefaults: true } } }), 'ef')
  assert.equal(capabilityCode({ roots: { listChanged: false } }), 'r')
})

test('each question needs its capability: without members, elicitation permits no URLs and sampling no tools', () => {
  const form = { method: 'elicitation/create', params: {} }
  const url = { method: 'elicitation/create', params: { mode: 'url' } }
  const sampling = { method: 'sampling/createMessage', params: {} }
  const tools = { method: 'sampling/createMessage', params: { tools: [] } }
  const roots = { method: 'roots/list' }
  const bare = { elicitation: {}, sampling: {} }
  assert.equal(missingCapabilities(form, bare), undefined)
  assert.equal(missingCapabilities(sampling, bare), undefined)
  assert.deepEqual(missingCapabilities(url, bare), { elicitation: { url: {} } })
  assert.deepEqual(missingCapabilities(form, { elicitation: { url: {} } }), { elicitation: { form: {} } })
  assert.deepEqual(missingCapabilities(tools, bare), { sampling: { tools: {} } })
  assert.equal(missingCapabilities(tools, { sampling: { tools: {} } }), undefined)
  assert.deepEqual(missingCapabilities(roots, bare), { roots: {} })
  assert.deepEqual(missingCapabilities(roots, undefined), { roots: {} })
  assert.equal(missingCapabilities({ method: 'tools/call' }, undefined), undefined)
})
