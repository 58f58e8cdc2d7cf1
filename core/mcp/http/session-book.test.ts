/** Who gets which session, how long it is kept, and how many there are. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import type { Session } from './session.ts'
import { type Entry, SessionBook } from './session-book.ts'

const MINUTE_MS = 60_000

function setUp(shared: boolean) {
  const clock = createManualClock()
  const closed: unknown[] = []
  let opened = 0
  const open = async (entry: Entry): Promise<Session> => {
    opened++
    const session: Session = {
      info: { protocolVersion: '2025-11-25', capabilities: {} },
      request: async () => ({ result: {} }),
      close: async () => void closed.push(entry.key),
    }
    entry.session = session
    return session
  }
  return { clock, closed, opened: () => opened, book: new SessionBook({ clock, shared, open }) }
}

const settled = () => new Promise(resolve => setImmediate(resolve))

test('a shared session is one for all and never ends for idleness', async () => {
  const { book, clock, closed, opened } = setUp(true)
  for (const client of ['ann', 'bob', undefined]) book.giveBack(book.acquire(client))
  clock.advance(60 * MINUTE_MS)
  await settled()
  assert.equal(opened(), 1)
  assert.deepEqual(closed, [])
})

test("a client's session ends when the client goes, a shared one does not", async () => {
  const { book, closed } = setUp(false)
  for (const client of ['ann', 'bob']) book.giveBack(book.acquire(client))
  for (const client of ['ann', 'eve']) book.forget(client)
  await settled()
  assert.deepEqual(closed, ['ann'])
  const shared = setUp(true)
  shared.book.giveBack(shared.book.acquire('ann'))
  shared.book.forget('')
  await settled()
  assert.deepEqual(shared.closed, [])
})

test("a client's session ends five minutes after its last use", async () => {
  const { book, clock, closed } = setUp(false)
  book.giveBack(book.acquire('ann'))
  clock.advance(4 * MINUTE_MS)
  const again = book.acquire('ann')
  clock.advance(60 * MINUTE_MS)
  book.giveBack(again)
  clock.advance(5 * MINUTE_MS - 1)
  await settled()
  assert.deepEqual(closed, [])
  clock.advance(1)
  await settled()
  assert.deepEqual(closed, ['ann'])
})

test('the 257th client takes the place of the one idle for longest, unless all are busy', async () => {
  const { book, closed } = setUp(false)
  const entries = Array.from({ length: 256 }, (_, at) => book.acquire(`client ${at}`))
  assert.throws(() => book.acquire('late'), { code: 'upstream_busy' })
  for (const entry of entries) book.giveBack(entry)
  book.giveBack(book.acquire('client 0'))
  book.acquire('late')
  await settled()
  assert.deepEqual(closed, ['client 1'])
})

test('a session that failed to open is opened anew by the next caller', async () => {
  let attempts = 0
  const open = async (): Promise<Session> => {
    attempts++
    throw new Error('not yet')
  }
  const book = new SessionBook({ clock: createManualClock(), shared: true, open })
  for (const expected of [1, 2]) {
    await assert.rejects(book.acquire(undefined).opening, /not yet/)
    await settled()
    assert.equal(attempts, expected)
  }
})
