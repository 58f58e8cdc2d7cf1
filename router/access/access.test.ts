/** Which restricted catalogs are kept for callers, and for how long. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AccessRule, OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import { ANONYMOUS, type Identity } from '../../core/mcp/identity.ts'
import { drive, snapshotOf } from '../../test/meta/fixture.ts'
import { buildCatalog } from '../catalog/catalog.ts'
import { createAccess } from './access.ts'

const GROUPS = ['red', 'green', 'blue']

const rules = GROUPS.map(
  (name): AccessRule => ({
    name,
    subjects: [{ kind: 'Group', name }],
    servers: ['*'],
    tools: { allow: [`${name}_*`], deny: [], readOnly: false },
    resources: { allow: ['*'], deny: [] },
    prompts: { allow: ['*'], deny: [] },
    scopes: [],
    challenge: false,
  }),
)
const tools = GROUPS.map(name => ({ name: `${name}_get`, inputSchema: { type: 'object' } }))

function catalogOf(access = { ...OPEN_ACCESS, rules }) {
  return drive(buildCatalog(snapshotOf({ one: { offers: { tools } } }, { access }, 1)))
}

function inGroups(...groups: string[]): Identity {
  return Object.freeze({ ...ANONYMOUS, id: `user:own:${groups}`, kind: 'user', issuer: 'own', groups })
}

test('callers to whom the same rules apply share a catalog, and without rules all share the whole', () => {
  const [access, catalog, open] = [createAccess(), catalogOf(), catalogOf(OPEN_ACCESS)]
  const red = access(catalog, inGroups('red'))
  assert.deepEqual(
    red.tools.map(({ tool }) => tool),
    ['red_get'],
  )
  assert.equal(access(catalog, inGroups('red', 'of no rule')), red)
  assert.notEqual(access(catalog, inGroups('red', 'blue')), red)
  assert.equal(access(open, inGroups('red')), open)
})

test('catalogs beyond the limit are built again, however long their callers are remembered', () => {
  const catalog = catalogOf()
  const access = createAccess(1_002)
  const [red, green, blue] = GROUPS.map(group => inGroups(group)) as [Identity, Identity, Identity]
  const first = access(catalog, red)
  const second = access(catalog, green)
  assert.equal(access(catalog, red), first)
  access(catalog, blue)
  assert.equal(access(catalog, red), first)
  const again = access(catalog, green)
  assert.notEqual(again, second)
  assert.deepEqual(again.tools, second.tools)
})
