/** Which session a caller gets, how long it is kept, and how many there are. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import type { Session } from './session.ts'
import { type Entry, SessionBook, type Wanted } from './session-book.ts'

const MINUTE_MS = 60_000

const shared: Wanted = { key: '', capabilities: {}, declared: '', own: false, prefers: 'modern' }

function of(client: string, declared = ''): Wanted {
  return { key: client, capabilities: {}, declared, own: true, prefers: 'legacy' }
}

function setUp() {
  const clock = createManualClock()
  const closed: unknown[] = []
  let opened = 0
  const open = async (entry: Entry): Promise<Session> => {
    opened++
    const session: Session = {
      info: { protocolVersion: '2025-11-25', capabilities: {} },
      request: async () => ({ result: {} }),
      tell: () => {},
      subscribe: async () => ({ result: {} }),
      unsubscribe: () => {},
      close: async () => void closed.push(entry.key),
    }
    entry.session = session
    return session
  }
  return { clock, closed, opened: () => opened, book: new SessionBook({ clock, open }) }
}

const settled = () => new Promise(resolve => setImmediate(resolve))

test('all callers share one session, which is never closed for idleness', async () => {
  const { book, clock, closed, opened } = setUp()
  for (let calls = 0; calls < 3; calls++) book.release(book.acquire(shared))
  clock.advance(60 * MINUTE_MS)
  await settled()
  assert.equal(opened(), 1)
  assert.deepEqual(closed, [])
})

test("a client's session ends when the client goes, a shared one does not", async () => {
  const { book, closed } = setUp()
  for (const client of ['ann', 'bob']) book.release(book.acquire(of(client)))
  book.release(book.acquire(shared))
  for (const client of ['ann', 'eve', '']) book.forget(client)
  await settled()
  assert.deepEqual(closed, ['ann'])
})

test("a client's session ends five minutes after its last use", async () => {
  const { book, clock, closed } = setUp()
  book.release(book.acquire(of('ann')))
  clock.advance(4 * MINUTE_MS)
  const again = book.acquire(of('ann'))
  clock.advance(60 * MINUTE_MS)
  book.release(again)
  clock.advance(5 * MINUTE_MS - 1)
  await settled()
  assert.deepEqual(closed, [])
  clock.advance(1)
  await settled()
  assert.deepEqual(closed, ['ann'])
})

test('the 257th client replaces the one that has been idle longest, unless all are busy', async () => {
  const { book, closed } = setUp()
  const entries = Array.from({ length: 256 }, (_, at) => book.acquire(of(`client ${at}`)))
  assert.throws(() => book.acquire(of('late')), { code: 'upstream_busy' })
  for (const entry of entries) book.release(entry)
  book.release(book.acquire(of('client 0')))
  book.acquire(of('late'))
  await settled()
  assert.deepEqual(closed, ['client 1'])
})

test('a session that failed to open is opened again by the next caller', async () => {
  let attempts = 0
  const open = async (): Promise<Session> => {
    attempts++
    throw new Error('not yet')
  }
  const book = new SessionBook({ clock: createManualClock(), open })
  for (const expected of [1, 2]) {
    await assert.rejects(book.acquire(shared).opening, /not yet/)
    await settled()
    assert.equal(attempts, expected)
  }
})

test('a client with other capabilities gets another session, and calls in flight keep theirs', async () => {
  const { book, closed, opened } = setUp()
  const first = book.acquire(of('ann'))
  const second = book.acquire(of('ann', 'elicitation'))
  assert.notEqual(second, first)
  await settled()
  assert.deepEqual([opened(), closed], [2, []])
  book.release(first)
  await settled()
  assert.deepEqual(closed, ['ann'])
  assert.equal(book.acquire(of('ann', 'elicitation')), second)
})

test('calls make a session busy, subscriptions do not', () => {
  const { book } = setUp()
  const held = book.hold(shared)
  assert.equal(book.isBusy(), false)
  const called = book.acquire(shared)
  assert.equal(book.isBusy(), true)
  book.release(called)
  assert.equal(book.isBusy(), false)
  book.letGo(held)
  book.acquire(shared)
  assert.equal(book.isBusy(), true)
})
