/** URI templates. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { templateOf } from './template.ts'

test('simple and reserved variables are filled in; for other templates the whole URI is typed', () => {
  const template = templateOf('demo://{kind}/{+path}?v={kind}')
  assert.deepEqual(template?.variables, ['kind', 'path'])
  assert.equal(template?.fill({ kind: 'a b/c', path: 'x/y z' }), 'demo://a%20b%2Fc/x/y%20z?v=a%20b%2Fc')
  assert.deepEqual(templateOf('plain://x')?.variables, [])
  for (const text of ['a{?query}', 'a{/list*}', 'a{x,y}', 'a{}'])
    assert.equal(templateOf(text), undefined, text)
})
