/** What a server declares. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changesFilter, changingLists, declares } from './declares.ts'

test('only the value true declares a capability', () => {
  assert.equal(declares({ subscribe: true }, 'subscribe'), true)
  for (const capability of [undefined, null, true, {}, { subscribe: 'true' }, { listChanged: true }])
    assert.equal(declares(capability, 'subscribe'), false)
})

test('subscriptions/listen names the lists whose changes are wanted', () => {
  const capabilities = { tools: { listChanged: true }, resources: { subscribe: true }, prompts: {} }
  assert.deepEqual(changingLists(capabilities), ['tools'])
  assert.deepEqual(changesFilter(capabilities), { toolsListChanged: true })
  assert.deepEqual(changesFilter({}), {})
})
