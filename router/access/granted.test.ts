/** What `portolan access` lists of servers whose lists are not known yet. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AccessConfig, type AccessRule, OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import { ANONYMOUS } from '../../core/mcp/identity.ts'
import { rule } from '../../test/front/access-router.ts'
import { drive, snapshotOf } from '../../test/meta/fixture.ts'
import { buildCatalog } from '../catalog/catalog.ts'
import { grantedTo } from './granted.ts'

const READ_ONLY = { allow: ['*'], deny: [], readOnly: true }

/** The servers of which something may be granted. */
function listed(access: Partial<AccessConfig>): string[] {
  const snapshot = snapshotOf({ notes: {}, mail: {} }, { access: { ...OPEN_ACCESS, ...access } }, 1)
  return grantedTo(drive(buildCatalog(snapshot)), ANONYMOUS).map(({ server }) => server)
}

test('a server without a list is listed if a rule is about it, or if there are no rules', () => {
  const subjects: AccessRule['subjects'] = []
  assert.deepEqual(listed({}), ['mail', 'notes'])
  assert.deepEqual(listed({ tools: READ_ONLY }), ['mail', 'notes'])
  assert.deepEqual(listed({ rules: [rule('all', '*', { subjects })] }), ['mail', 'notes'])
  assert.deepEqual(listed({ rules: [rule('some', 'mail', { subjects })] }), ['mail'])
  assert.deepEqual(listed({ rules: [rule('other', '*')] }), [])
})
