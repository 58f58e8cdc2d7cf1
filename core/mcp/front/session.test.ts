/** Session ids prove themselves: none is stored, a forged, foreign, expired or ended one is worth nothing. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { createSessions } from './session.ts'

const DAY_MS = 24 * 60 * 60_000

test('an id holds for whoever has the key, and names the same client there', () => {
  const clock = createManualClock(1_000)
  const sessions = createSessions({ key: 'k', owner: 'router-0', clock })
  const id = sessions.issue()
  assert.match(id, /^router-0\.[\w-]{24}\.[0-9a-z]+\.[\w-]{43}$/)
  assert.notEqual(sessions.issue(), id)
  const client = sessions.find(id)?.client
  assert.ok(client)
  assert.equal(createSessions({ key: 'k', owner: 'other', clock }).find(id)?.client, client)
  assert.equal(createSessions({ key: 'l', owner: 'router-0', clock }).find(id), undefined)
})

test('an id with anything changed is refused', () => {
  const sessions = createSessions({ key: 'k', owner: 'o', clock: createManualClock(0) })
  const id = sessions.issue()
  for (let at = 0; at < id.length; at++) {
    const changed = id.slice(0, at) + (id[at] === 'A' ? 'B' : 'A') + id.slice(at + 1)
    assert.equal(sessions.find(changed), undefined, changed)
  }
  for (const nonsense of ['', '.', '...', 'a.b.c', `${id}.`, `${id}x`, 'x'.repeat(100_000), '\u0000'])
    assert.equal(sessions.find(nonsense), undefined)
})

test('an id expires after thirty days, one that was seen before too', () => {
  const clock = createManualClock(0)
  const sessions = createSessions({ key: 'k', owner: 'o', clock })
  const id = sessions.issue()
  clock.advance(30 * DAY_MS - 1)
  assert.ok(sessions.find(id)?.client)
  clock.advance(1)
  assert.equal(sessions.find(id)?.client, undefined)
  assert.equal(sessions.end(id), false)
})

test('an ended session is over, once', () => {
  const sessions = createSessions({ key: 'k', owner: 'o', clock: createManualClock(0) })
  const id = sessions.issue()
  assert.equal(sessions.end(id), true)
  assert.equal(sessions.find(id)?.client, undefined)
  assert.equal(sessions.end(id), false)
})

test('sessions without number cost bounded memory, and all of them hold', () => {
  const sessions = createSessions({ key: 'k', owner: 'o', clock: createManualClock(0) })
  const ids = Array.from({ length: 10_050 }, () => sessions.issue())
  for (const id of ids) assert.ok(sessions.find(id)?.client)
  for (const id of ids.slice(0, 60)) assert.ok(sessions.find(id)?.client)
})
