/** The table of users as people see it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ofWhom, usersTable } from './users.ts'

const NOW = 1_800_000_000_000
const ada = {
  user: 'r4zfputxix',
  subject: 'token#ada',
  sinceMs: NOW - 3_700_000,
  usedMs: NOW - 61_000,
  active: 0,
  breaker: 'closed',
} as const
const ben = {
  ...ada,
  user: 'aaaaaaaaaa',
  subject: 'token#ben',
  sinceMs: NOW,
  active: 2,
  breaker: 'open',
} as const
const ALL = [
  { server: 'notes', users: [ada, ben] },
  { server: 'wiki', users: [] },
]

test('each user has a line with its start, its last use or calls in flight, and whether it fails', () => {
  assert.deepEqual(usersTable(ALL, NOW).split('\n'), [
    'SERVER  USER        SUBJECT    SINCE  USED',
    'notes   r4zfputxix  token#ada  1h     1m',
    'notes   aaaaaaaaaa  token#ben  0s     2 in flight  failing',
  ])
  assert.equal(usersTable([], NOW), 'no user has a session, process or pod of their own')
})

test('a user is named by the id or by issuer and subject', () => {
  for (const name of [ada.user, ada.subject])
    assert.deepEqual(ofWhom(ALL, 'notes', name), [{ server: 'notes', users: [ada] }])
  assert.deepEqual(ofWhom(ALL, undefined, 'ada'), [])
})
