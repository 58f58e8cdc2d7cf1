/** Which names of tools in scripts mean a tool that exists. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unknownTools } from './unknown-tools.ts'

const FORGE = { name: 'my-forge', tools: ['create_issue', 'v1_2'] }

test('names may differ in case and separators, with and without their server', () => {
  const known = [
    'my-forge:create_issue',
    'my_forge:createIssue',
    'createIssue',
    'myForge_createIssue',
    'V1-2',
  ]
  assert.deepEqual(unknownTools(known, [FORGE, { name: 'my', tools: [] }]), [])
  const unknown = ['my-forge:create', 'forge:create_issue', 'create', 'my_create_issue', 'v12']
  assert.deepEqual(unknownTools(unknown, [FORGE, { name: 'my', tools: [] }]), unknown)
})

test('while a list is not known, its server may have any tool', () => {
  const servers = [FORGE, { name: 'wiki' }]
  assert.deepEqual(unknownTools(['search', 'Wiki:search', 'my-forge:search'], servers), ['my-forge:search'])
})
