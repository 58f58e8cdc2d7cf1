/** What the audit stream shows of a request. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shownUri } from './line.ts'

test('a URI is shown without user, password, query and fragment', () => {
  const cases = {
    'postgres://me:hunter2@db/x': 'postgres://db/x',
    'postgres://me:hun@ter2@db/x': 'postgres://db/x',
    'https://host/@me/file@2?token=hunter2#part': 'https://host/@me/file@2',
    'https://hunter2@host': 'https://host',
    'file:///home/me@work': 'file:///home/me@work',
  }
  for (const [uri, shown] of Object.entries(cases)) assert.equal(shownUri(uri), shown)
})
