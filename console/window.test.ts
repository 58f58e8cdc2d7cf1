/** Long lists. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { windowOf } from './window.ts'

test('the drawn rows and the placeholders are as high as all rows together, and all visible rows are drawn', () => {
  fc.assert(
    fc.property(
      fc.nat(20_000),
      fc.nat(2_000_000),
      fc.integer({ min: 1, max: 2_000 }),
      (rows, scrolled, height) => {
        const { first, end, above, below } = windowOf(rows, 40, scrolled, height)
        assert.equal(above + (end - first) * 40 + below, rows * 40)
        assert.ok(end - first <= Math.ceil(height / 40) + 26)
        const seen = Math.floor(scrolled / 40)
        if (seen < rows) assert.ok(first <= seen && end > seen)
      },
    ),
  )
})
