/** Pages by cursor are complete, whatever is added and removed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pageOf, rankAt, rankCursor } from './pages.ts'

const two = (_item: string, many: number): boolean => many < 2
const self = (item: string): string => item

/** All pages of lists that may differ from page to page. */
function pagesOf(...lists: string[][]): string[][] {
  const pages: string[][] = []
  let cursor: string | undefined
  do {
    const page = pageOf(lists[Math.min(pages.length, lists.length - 1)] as string[], self, cursor, two, 'all')
    assert.ok(page)
    pages.push(page.items)
    cursor = page.nextCursor
    assert.ok((cursor ?? '').length <= 60 && pages.length < 100, cursor)
  } while (cursor !== undefined)
  return pages
}

test('pages give every item once, whatever the length of their keys', () => {
  const long = ['a', 'b', 'c', 'd', 'e'].map(
    end => `${'https://example.com/a/long/way/to/go/'.repeat(200)}${end}`,
  )
  const mixed = ['a', '😀'.repeat(30), `😀${'x'.repeat(40)}`, ...long].sort()
  for (const items of [['a', 'b', 'c', 'd', 'e'], ['a', 'b'], [], long, mixed])
    assert.deepEqual(pagesOf(items).flat(), items)
})

test('items whose keys contain NUL are listed once', () => {
  const long = 'x'.repeat(40)
  const items = ['a', 'a\0', 'a\0b', 'a\0c', 'ab', `x\0${long}`, `x\0${long}y`, long, `${long}\0`].sort()
  assert.deepEqual(pagesOf(items).flat(), items)
})

test('if an item is removed, no other is skipped, even if it was the last of a page', () => {
  assert.deepEqual(pagesOf(['a', 'b', 'c', 'd'], ['a', 'c', 'd']).flat(), ['a', 'b', 'c', 'd'])
  const key = (end: string): string => `${'a/very/long/beginning/of/all/'.repeat(3)}${end}`
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(key) as [string, string, string, string]
  assert.deepEqual(new Set(pagesOf([a, b, c, d], [a, c, d]).flat()), new Set([a, b, c, d]))
})

test('a foreign cursor is refused', () => {
  for (const cursor of ['made up', 7, null, 'x'.repeat(10_000), {}])
    assert.equal(pageOf(['a'], self, cursor, two, 'all'), undefined)
})

test('a cursor is refused for another list', () => {
  const cursor = (asked: string) => pageOf(['a', 'b', 'c'], self, undefined, two, asked)?.nextCursor
  assert.deepEqual(pageOf(['a', 'b', 'c'], self, cursor('x'), two, 'x')?.items, ['c'])
  assert.equal(pageOf(['a', 'b', 'c'], self, cursor('x'), two, 'y'), undefined)
  assert.equal(rankAt(rankCursor(15, 'x'), 'x'), 15)
  for (const given of [rankCursor(15, 'y'), cursor('x'), 'made up', 7])
    assert.equal(rankAt(given, 'x'), undefined)
})
