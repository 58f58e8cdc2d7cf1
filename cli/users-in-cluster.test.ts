/** What several routers and pods report about the users of a server becomes one list. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { merged } from './users-in-cluster.ts'

const ada = {
  user: 'r4zfputxix',
  subject: 'token#ada',
  sinceMs: 1_000,
  usedMs: 5_000,
  active: 1,
  breaker: 'closed',
} as const
const podOf = (user: string) => ({ ...ada, user, subject: '?', sinceMs: 500, usedMs: 9_000, active: 0 })

test('a user of several routers has one line: the earliest start, the latest use, and all calls in flight', () => {
  const other = { ...ada, sinceMs: 2_000, usedMs: 6_000, active: 2, breaker: 'open' } as const
  assert.deepEqual(
    merged([
      { server: 'wiki', users: [] },
      { server: 'notes', users: [ada] },
      { server: 'notes', users: [other] },
    ]),
    [
      { server: 'notes', users: [{ ...ada, usedMs: 6_000, active: 3, breaker: 'open' }] },
      { server: 'wiki', users: [] },
    ],
  )
})

test('a pod changes only the start time of a user whom routers report, and adds a line for any other user', () => {
  assert.deepEqual(
    merged([
      { server: 'notes', users: [ada] },
      { server: 'notes', users: [podOf(ada.user)] },
      { server: 'notes', users: [podOf('aaaaaaaaaa')] },
    ]),
    [{ server: 'notes', users: [{ ...ada, sinceMs: 500 }, podOf('aaaaaaaaaa')] }],
  )
})
