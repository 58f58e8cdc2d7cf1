/** Conversion of server names in client configs to DNS labels. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MAX_NAME_LENGTH, NAME_PATTERN, RESERVED_NAME } from '../../crds/object-meta.ts'
import { serverNames } from './server-name.ts'

test('names become readable DNS labels', () => {
  assert.deepEqual(serverNames(['git', 'My Server', 'Größe 2', '21st.dev', '@acme/mcp_server', 'Ábç']), [
    'git',
    'my-server',
    'grosse-2',
    'mcp-21st-dev',
    'acme-mcp-server',
    'abc',
  ])
})

test('all names are unique labels, and valid ones do not change', () => {
  const name = fc.oneof(
    fc.string({ maxLength: 80 }),
    fc.constantFrom('git', 'Git', 'GIT', 'g.i.t', 'portolan', 'Portolan', '', '工具', '工'),
  )
  fc.assert(
    fc.property(fc.uniqueArray(name, { maxLength: 20 }), names => {
      const labels = serverNames(names)
      assert.equal(new Set(labels).size, names.length)
      for (const [index, label] of labels.entries()) {
        assert.match(label, NAME_PATTERN)
        assert.ok(label.length <= MAX_NAME_LENGTH && label !== RESERVED_NAME)
        if (names[index] === 'git') assert.equal(label, 'git')
      }
    }),
    { numRuns: 300 },
  )
})

test('a name does not depend on the order of the others', () => {
  const names = ['Git', 'GIT', 'a b', 'a-b', 'x'.repeat(60)]
  const reversed = serverNames(names.toReversed()).toReversed()
  assert.deepEqual(serverNames(names), reversed)
})
