/** Which users have an instance of a server: as routers report, up to a maximum, and none is ended to make room. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decideInstances, type InstancesInput, MARGIN_MS } from './user-instances.ts'

const NOW = 1_000_000_000
const IDLE_MS = 60_000
const [ADA, BEN, CYD] = ['a', 'b', 'c'].map(letter => letter.repeat(64)) as [string, string, string]

type Given = Partial<InstancesInput> & {
  waiting?: string[]
  used?: Record<string, number>
  isKnown?: boolean
}

function decide({ waiting = [], used = {}, isKnown = true, ...more }: Given) {
  const demand = {
    isKnown,
    waiting,
    used: new Map(Object.entries(used).map(([user, ms]) => [user, NOW - ms])),
  }
  const usual = { max: 2, idleAfterMs: IDLE_MS, existing: [], admits: () => true, usedAtMs: new Map() }
  return decideInstances({ ...usual, demand, now: NOW, ...more })
}

test('a user who waits gets an instance, one who uses it keeps it, and one who was idle for long loses it', () => {
  const { wanted, usedAtMs } = decide({
    existing: [ADA, CYD],
    waiting: [BEN],
    used: { [ADA]: IDLE_MS, [CYD]: IDLE_MS + MARGIN_MS },
  })
  assert.deepEqual(wanted, [ADA, BEN])
  assert.deepEqual(
    [...usedAtMs],
    [
      [ADA, NOW - IDLE_MS],
      [BEN, NOW],
    ],
  )
})

test("no user's instance ends because a router has only just begun to report its use", () => {
  const { wanted, afterMs } = decide({ existing: [ADA] })
  assert.deepEqual([wanted, afterMs], [[ADA], IDLE_MS + MARGIN_MS])
  const before = new Map([[ADA, NOW - IDLE_MS - MARGIN_MS]])
  assert.deepEqual(decide({ existing: [ADA], usedAtMs: before }).wanted, [])
})

test("while a router's report is missing, an instance that is overdue stays, and is looked at again after 30 seconds", () => {
  const usedAtMs = new Map([[ADA, NOW - IDLE_MS - MARGIN_MS]])
  const { wanted, afterMs } = decide({ existing: [ADA], usedAtMs, isKnown: false })
  assert.deepEqual([wanted, afterMs], [[ADA], 30_000])
  const later = decide({ existing: [ADA], used: { [ADA]: 0 }, isKnown: false })
  assert.equal(later.afterMs, IDLE_MS + MARGIN_MS)
})

test("if the maximum number of users is reached, a further user is refused, and no user's instance ends", () => {
  const existing = [BEN, CYD]
  const used = { [BEN]: 0, [CYD]: 0 }
  const full = decide({ existing, used, waiting: [ADA] })
  assert.deepEqual([full.wanted, full.refused], [existing, [ADA]])
  const lowered = decide({ existing, used, waiting: [ADA], max: 1 })
  assert.deepEqual([lowered.wanted, lowered.refused], [existing, [ADA]])
})

test('two users with the same id do not share an instance', () => {
  const twin = `${BEN.slice(0, 20)}${'0'.repeat(44)}`
  const { wanted, refused } = decide({ existing: [BEN], used: { [BEN]: 0 }, waiting: [twin], max: 9 })
  assert.deepEqual([wanted, refused], [[BEN], [twin]])
})

test('a user without the required Secret gets no instance', () => {
  const { wanted, refused } = decide({
    existing: [ADA, BEN],
    used: { [ADA]: 0, [BEN]: 0 },
    waiting: [CYD],
    admits: user => user === BEN,
  })
  assert.deepEqual([wanted, refused], [[BEN], []])
})
