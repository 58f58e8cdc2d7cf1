/** Addresses within the page. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { hashOf, PAGES, readRoute } from './route.ts'

test('choices are in the URL, and are restored from it', () => {
  const chosen = fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.string({ minLength: 1 }), { maxKeys: 3 })
  fc.assert(
    fc.property(
      fc.constantFrom(...PAGES),
      fc.string({ minLength: 1, unit: 'grapheme' }),
      chosen,
      (page, item, chosen) => {
        assert.deepEqual(readRoute(hashOf({ page, item, chosen })), { page, item, chosen: { ...chosen } })
      },
    ),
  )
})

test('any URL shows a page', () => {
  for (const hash of ['', '#', '#/', '#/nothing', '#/servers/%E0%A4%A', '#////?a=b&&'])
    assert.ok(PAGES.includes(readRoute(hash).page), hash)
})

test('half of a character in a name or a choice, which no URL can have, breaks no link', () => {
  const hash = hashOf({ page: 'tools', item: 'kit:bad_\uD800', chosen: { filter: '\uDC00' } })
  assert.deepEqual(readRoute(hash), { page: 'tools', item: 'kit:bad_\uFFFD', chosen: { filter: '\uFFFD' } })
})
