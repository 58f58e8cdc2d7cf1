/** What several routers say of the users of a server, as one. */
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

test('a user of several routers is one line: since the first, used last, with all calls in flight', () => {
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

test('a pod adds nothing but since when to what routers say, and a line where none knows the user', () => {
  assert.deepEqual(
    merged([
      { server: 'notes', users: [ada] },
      { server: 'notes', users: [podOf(ada.user)] },
      { server: 'notes', users: [podOf('aaaaaaaaaa')] },
    ]),
    [{ server: 'notes', users: [{ ...ada, sinceMs: 500 }, podOf('aaaaaaaaaa')] }],
  )
})
