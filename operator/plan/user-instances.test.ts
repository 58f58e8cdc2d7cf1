/** Who has an instance of a server: by what routers say, at most so many, and nobody's is ended to make room. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decideInstances, type InstancesInput, MARGIN_MS } from './user-instances.ts'

const NOW = 1_000_000_000
const IDLE_MS = 60_000
const [ADA, BEN, CYD] = ['a', 'b', 'c'].map(letter => letter.repeat(64)) as [string, string, string]

type Given = Partial<InstancesInput> & { wished?: string[]; used?: Record<string, number>; isKnown?: boolean }

function decide({ wished = [], used = {}, isKnown = true, ...more }: Given) {
  const demand = {
    isKnown,
    wished,
    used: new Map(Object.entries(used).map(([user, ms]) => [user, NOW - ms])),
  }
  const usual = { max: 2, idleAfterMs: IDLE_MS, standing: [], admits: () => true, usedAtMs: new Map() }
  return decideInstances({ ...usual, demand, now: NOW, ...more })
}

test('whoever waits gets one, whoever uses theirs keeps it, and who did nothing for long has none', () => {
  const { wanted, usedAtMs } = decide({
    standing: [ADA, CYD],
    wished: [BEN],
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

test("a router that has just begun to report what it uses ends nobody's pod", () => {
  const { wanted, afterMs } = decide({ standing: [ADA] })
  assert.deepEqual([wanted, afterMs], [[ADA], IDLE_MS + MARGIN_MS])
  const before = new Map([[ADA, NOW - IDLE_MS - MARGIN_MS]])
  assert.deepEqual(decide({ standing: [ADA], usedAtMs: before }).wanted, [])
  assert.deepEqual(decide({ standing: [ADA], usedAtMs: before, isKnown: false }).wanted, [ADA])
})

test("if the maximum number of users is reached, a further user is refused, and nobody's pod is ended", () => {
  const standing = [BEN, CYD]
  const used = { [BEN]: 0, [CYD]: 0 }
  const full = decide({ standing, used, wished: [ADA] })
  assert.deepEqual([full.wanted, full.refused], [standing, [ADA]])
  const lowered = decide({ standing, used, wished: [ADA], max: 1 })
  assert.deepEqual([lowered.wanted, lowered.refused], [standing, [ADA]])
})

test('two users whose ids are the same do not share one', () => {
  const twin = `${BEN.slice(0, 20)}${'0'.repeat(44)}`
  const { wanted, refused } = decide({ standing: [BEN], used: { [BEN]: 0 }, wished: [twin], max: 9 })
  assert.deepEqual([wanted, refused], [[BEN], [twin]])
})

test('without the Secret that it needs a user has none', () => {
  const { wanted, refused } = decide({
    standing: [ADA, BEN],
    used: { [ADA]: 0, [BEN]: 0 },
    wished: [CYD],
    admits: user => user === BEN,
  })
  assert.deepEqual([wanted, refused], [[BEN], []])
})
