/** Which of the logins that routers report are written. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergedLogins } from './keep-logins.ts'

const DAY_MS = 24 * 60 * 60_000

test('only newer logins are written, and nothing if none is newer', () => {
  const known = new Map([
    ['b', '5.old'],
    ['a', '9.new'],
  ])
  assert.equal(mergedLogins(known, new Map([['a', '8.late']])), undefined)
  assert.equal(mergedLogins(known, known), undefined)
  assert.deepEqual(
    [...(mergedLogins(known, new Map([['b', '6.']])) ?? [])],
    [
      ['a', '9.new'],
      ['b', '6.'],
    ],
  )
})

test('a Secret stays within its limit: the logins that were renewed longest ago are dropped, and not written again', () => {
  const value = 'x'.repeat(24_000)
  const all = new Map(Array.from({ length: 50 }, (_, at) => [`id${at + 10}`, `${at + 1}.${value}`]))
  const kept = mergedLogins(new Map(), all)
  assert.ok(kept && kept.size < 40 && kept.size > 30)
  assert.deepEqual([kept.has('id59'), kept.has('id10')], [true, false])
  assert.equal(mergedLogins(kept, all), undefined)
})

test('the deletion of a login is recorded for a day, so that no router restores it', () => {
  const known = new Map([['a', '1.']])
  const after = (ms: number) => [...(mergedLogins(known, new Map([['b', `${ms}.new`]]))?.keys() ?? [])]
  assert.deepEqual([after(DAY_MS), after(DAY_MS + 1)], [['a', 'b'], ['b']])
})
