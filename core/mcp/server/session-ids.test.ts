/** Signed session ids: none is stored, and a forged, foreign, expired or ended one is refused. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import type { JsonObject } from '../../json.ts'
import { createSessions } from './session-ids.ts'

const DAY_MS = 24 * 60 * 60_000

test('an id is valid for every process with the key, and names the same client', () => {
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

test("an id contains the client's name, bounded and on one line; labels do not reveal the id", () => {
  const options = { key: 'k', owner: '2001:db8:85a3:8d3:1319:8a2e:370:7348', clock: createManualClock(0) }
  const label = (clientInfo: JsonObject, capabilities = {}) => {
    const id = createSessions(options).issue({ clientInfo, capabilities })
    const session = createSessions(options).find(id)
    assert.match(session?.label?.session ?? '', /^[\w-]{8}$/)
    assert.ok(!id.includes(session?.label?.session ?? ''))
    assert.deepEqual(session?.capabilities, Object.keys(capabilities).length ? capabilities : undefined)
    return session?.label?.name
  }
  assert.equal(label({ name: 'claude-code', version: '2.0.1' }), 'claude-code/2.0.1')
  assert.equal(label({ name: 'Zürich 🦊' }, { sampling: {} }), 'Zürich 🦊')
  assert.equal(
    label({ name: 'a\n{"level":"error"}\u001b[31m\u2028\u202e', version: 1 }),
    'a{"level":"error"}[31m',
  )
  assert.equal(label({ name: '🦊'.repeat(100_000) })?.length, 48)
  assert.equal(label({ name: '\u0000\n' }), undefined)
  assert.equal(label({ version: '1' }), undefined)
})

test('a changed id is refused', () => {
  const sessions = createSessions({ key: 'k', owner: 'o', clock: createManualClock(0) })
  const id = sessions.issue()
  for (let at = 0; at < id.length; at++) {
    const changed = id.slice(0, at) + (id[at] === 'A' ? 'B' : 'A') + id.slice(at + 1)
    assert.equal(sessions.find(changed), undefined, changed)
  }
  for (const nonsense of ['', '.', '...', 'a.b.c', `${id}.`, `${id}x`, 'x'.repeat(100_000), '\u0000'])
    assert.equal(sessions.find(nonsense), undefined)
})

test('an id expires after thirty days, also if it was used before', () => {
  const clock = createManualClock(0)
  const sessions = createSessions({ key: 'k', owner: 'o', clock })
  const id = sessions.issue()
  clock.advance(30 * DAY_MS - 1)
  assert.ok(sessions.find(id)?.client)
  clock.advance(1)
  assert.equal(sessions.find(id)?.client, undefined)
  assert.equal(sessions.end(id), false)
})

test('a session can be ended once, and is then unknown', () => {
  const sessions = createSessions({ key: 'k', owner: 'o', clock: createManualClock(0) })
  const id = sessions.issue()
  assert.equal(sessions.end(id), true)
  assert.equal(sessions.find(id)?.client, undefined)
  assert.equal(sessions.end(id), false)
})

test('sessions stay valid even if there are more of them than the process remembers', () => {
  const sessions = createSessions({ key: 'k', owner: 'o', clock: createManualClock(0) })
  const ids = Array.from({ length: 10_050 }, () => sessions.issue())
  for (const id of ids) assert.ok(sessions.find(id)?.client)
  for (const id of ids.slice(0, 60)) assert.ok(sessions.find(id)?.client)
})

test("an id contains the client's capabilities, which nobody can extend", () => {
  const sessions = createSessions({ key: 'k', owner: 'o', clock: createManualClock(0) })
  const capabilities = { elicitation: { url: {} }, roots: { listChanged: true } }
  const id = sessions.issue({ capabilities: { ...capabilities, tasks: {} } })
  assert.deepEqual(sessions.find(id)?.capabilities, capabilities)
  assert.match(id, /\.eurl\./)
  assert.equal(sessions.find(id.replace('.eurl.', '.eusrl.')), undefined)
  assert.equal(sessions.find(sessions.issue())?.capabilities, undefined)
})

test('a text that was signed for one purpose is invalid for another', () => {
  const sessions = createSessions({ key: 'k', owner: 'o', clock: createManualClock(0) })
  const { signer } = sessions
  const kinds = ['state', 'again', 'ask'] as const
  for (const kind of kinds) {
    const mark = signer.mark(kind, 1_000)
    for (const other of kinds) assert.equal(signer.readMark(other, mark) !== undefined, other === kind)
    assert.equal(sessions.find(mark), undefined)
    const signed = mark.slice(mark.indexOf('.') + 1)
    for (const id of [signed, `${kind} ${signed}`]) {
      assert.equal(sessions.find(id), undefined, id)
      assert.equal(sessions.ownerOf(id), undefined, id)
    }
    assert.equal(signer.readMark(kind, mark.slice(0, mark.indexOf('.') + 1) + sessions.issue()), undefined)
    assert.equal(signer.claimsOurs(mark), true)
    const others = createSessions({ key: 'l', owner: 'o', clock: createManualClock(0) }).signer
    assert.equal(others.claimsOurs(mark) || others.readMark(kind, mark) !== undefined, false)
  }
})
