/** When a server sleeps and wakes, and how many of its instances run; the time is a plain number. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  QUIET_MS,
  type Scale,
  type ScaleInput,
  type Scaling,
  type ServerLoad,
  STEP_MS,
  scaleOf,
} from './scale.ts'

const MINUTE = 60_000
const T0 = Date.UTC(2026, 0, 1)
const SLEEPY: Scaling = { min: 0, max: 1, idleAfterMs: 15 * MINUTE, callsPerPod: 10, external: false }
const WIDE: Scaling = { ...SLEEPY, min: 1, max: 4 }
const QUIET: ServerLoad = { isKnown: true, isWanted: false, calls: 0, sessions: 0, usedAtMs: T0 }
const BUSY: ServerLoad = { ...QUIET, usedAtMs: undefined }

function decide(input: Partial<ScaleInput>): Scale {
  const normal = { scaling: SLEEPY, current: 1, isChanged: false, isReady: true, load: QUIET, now: T0 }
  return scaleOf({ ...normal, memory: { awakeSinceMs: T0 - 60 * MINUTE }, ...input })
}

test('a server that may sleep runs first, so that its tools are read', () => {
  assert.equal(decide({ current: undefined, memory: {} }).wanted, 1)
})

test('a server sleeps once nothing has used it for idleAfter; until then it is known when to decide again', () => {
  const { wanted, afterMs } = decide({ now: T0 + 14 * MINUTE })
  assert.deepEqual([wanted, afterMs], [1, MINUTE])
  assert.equal(decide({ now: T0 + 15 * MINUTE }).wanted, 0)
})

test('idleAfter counts from the time the server was woken if that is later', () => {
  const memory = { awakeSinceMs: T0 + 10 * MINUTE }
  assert.equal(decide({ now: T0 + 20 * MINUTE, memory }).wanted, 1)
  assert.equal(decide({ now: T0 + 25 * MINUTE, memory }).wanted, 0)
})

test('a server that is in use, wanted or not ready, or whose use is unknown, does not go to sleep', () => {
  const now = T0 + 60 * MINUTE
  assert.equal(decide({ now, load: BUSY }).wanted, 1)
  assert.equal(decide({ now, load: { ...QUIET, isWanted: true } }).wanted, 1)
  assert.equal(decide({ now, load: { ...QUIET, isKnown: false } }).wanted, 1)
  assert.equal(decide({ now, isReady: false }).wanted, 1)
  assert.equal(decide({ now, scaling: { ...SLEEPY, min: 1 } }).wanted, 1)
})

test('a sleeping server is woken only by a call or a changed manifest', () => {
  assert.equal(decide({ current: 0, load: { ...QUIET, isWanted: true } }).wanted, 1)
  assert.equal(decide({ current: 0, isChanged: true }).wanted, 1)
  assert.equal(decide({ current: 0, now: T0 + 600 * MINUTE }).wanted, 0)
  assert.equal(decide({ current: 0, load: { ...QUIET, isKnown: false } }).wanted, 0)
})

test('as many instances are woken as the waiting calls need', () => {
  const load = { ...BUSY, isWanted: true, calls: 35 }
  assert.equal(decide({ current: 0, scaling: { ...SLEEPY, max: 10 }, load }).wanted, 4)
  assert.equal(decide({ current: 0, scaling: { ...SLEEPY, max: 3 }, load }).wanted, 3)
})

test('more instances are started at once', () => {
  assert.equal(decide({ scaling: WIDE, load: { ...BUSY, calls: 11 } }).wanted, 2)
  assert.equal(decide({ scaling: WIDE, load: { ...BUSY, calls: 200 } }).wanted, 4)
})

test('after a burst and five quiet minutes, one instance is stopped each minute', () => {
  const seen: [minute: number, wanted: number][] = []
  let state: Pick<ScaleInput, 'current' | 'memory'> = { current: 4, memory: { awakeSinceMs: T0 } }
  for (let now = T0; now <= T0 + 10 * MINUTE; now += MINUTE / 2) {
    const { wanted, memory } = decide({ scaling: WIDE, load: { ...BUSY, calls: 3 }, now, ...state })
    if (wanted !== state.current) seen.push([(now - T0) / MINUTE, wanted])
    state = { current: wanted, memory }
  }
  assert.deepEqual(seen, [
    [5, 3],
    [6, 2],
    [7, 1],
  ])
})

test('a load that comes and goes keeps the instances that it needs', () => {
  let state: Pick<ScaleInput, 'current' | 'memory'> = { current: 1, memory: { awakeSinceMs: T0 } }
  const counts = new Set<number>()
  for (let at = 0; at < 120; at++) {
    const calls = at % 8 === 0 ? 40 : 0
    const { wanted, memory } = decide({
      scaling: WIDE,
      load: { ...BUSY, calls },
      now: T0 + at * (MINUTE / 2),
      ...state,
    })
    counts.add(wanted)
    state = { current: wanted, memory }
  }
  assert.deepEqual([...counts], [4])
})

test('no instance is stopped while sessions of clients are open, since they may be in any of them', () => {
  const memory = { awakeSinceMs: T0, quietSinceMs: T0 }
  const pinned = decide({
    scaling: WIDE,
    current: 3,
    load: { ...BUSY, sessions: 1 },
    now: T0 + QUIET_MS,
    memory,
  })
  assert.equal(pinned.wanted, 3)
  assert.equal(decide({ scaling: WIDE, current: 3, load: BUSY, now: T0 + QUIET_MS, memory }).wanted, 2)
})

test('nothing is stopped while the report of a router is missing', () => {
  const memory = { awakeSinceMs: T0, quietSinceMs: T0 }
  const now = T0 + QUIET_MS + STEP_MS
  assert.equal(
    decide({ scaling: WIDE, current: 3, load: { ...QUIET, isKnown: false }, now, memory }).wanted,
    3,
  )
})

test('while the use is not known, that is why a server stays awake', () => {
  const load = { ...QUIET, isKnown: false }
  const why = 'not every router has reported its use'
  assert.equal(decide({ load, now: T0 + 60 * MINUTE }).why, why)
  assert.equal(decide({ scaling: WIDE, current: 3, load }).why, why)
  assert.equal(decide({ scaling: WIDE, load }).why, 'scaling.min')
  assert.equal(decide({ load: BUSY }).why, 'it was used within scaling.idleAfter')
})

test('a smaller max applies at once', () => {
  assert.equal(decide({ scaling: { ...WIDE, max: 2 }, current: 4, load: BUSY }).wanted, 2)
})

test('with scaling.external the number of instances is left as it is', () => {
  const scaling = { ...WIDE, external: true }
  assert.equal(decide({ scaling, current: 7 }).wanted, 7)
  assert.equal(decide({ scaling, current: 0, load: { ...QUIET, isWanted: true } }).wanted, 0)
  assert.equal(decide({ scaling, current: undefined }).wanted, 1)
})

test('with scaling.external a suspended server that is resumed runs its minimum, since an autoscaler leaves 0 as it is', () => {
  const scaling = { ...WIDE, min: 2, external: true }
  assert.equal(decide({ scaling, current: 0, isChanged: true }).wanted, 2)
  assert.equal(decide({ scaling, current: 0 }).wanted, 0)
  assert.equal(decide({ scaling, current: 7, isChanged: true }).wanted, 7)
  assert.equal(decide({ scaling: { ...scaling, min: 0 }, current: 0, isChanged: true }).wanted, 0)
})
