/** The events of all routers of a gateway are shown as those of one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConsoleCall, ConsolePoint, ConsoleState } from '../core/console/shapes.ts'
import { applyClusterEvent, NO_CLUSTER } from './cluster.ts'
import { listsVersion } from './live.ts'
import { keyOf, merged } from './merge.ts'

const call = (seq: number, at: number): ConsoleCall => ({
  ...{ seq, at, server: 'kit', tool: 'echo', method: 'tools/call' },
  ...{ outcome: 'ok', totalMs: 2, upstreamMs: 1 },
})
const point = (at: number, ok: number, p95: number): ConsolePoint => ({
  ...{ at, spanMs: 5_000, calls: { ok }, serverMs: { p50: 1, p95 }, direct: 10, served: 1 },
  ...{ searches: 1, active: 1, waiting: 0, open: 0 },
})

const state = (catalogDigest?: string) =>
  ({
    ...{ catalogDigest, totals: { servers: 1, tools: 7, resources: 2, templates: 0 } },
    ...{
      search: { semantic: 'off', pending: 0 },
      tokens: { sinceStart: { direct: 0, served: 0, saved: 0 } },
    },
  }) as ConsoleState

function applyAll(...events: [name: string, data: unknown][]) {
  return events.reduce(
    (known, [name, data]) => applyClusterEvent(known, name, JSON.stringify(data)),
    NO_CLUSTER,
  )
}

test('calls of two routers are distinguished although both number theirs from one', () => {
  const { routers } = applyAll(
    ['calls@a', { run: 'x', calls: [call(1, 100), call(2, 300)], notShown: 1 }],
    ['calls@b', { run: 'y', calls: [call(1, 200)], notShown: 2 }],
  )
  const { calls, notShown } = merged(routers)
  assert.deepEqual(calls.map(keyOf), ['a 2', 'b 1', 'a 1'])
  assert.equal(notShown, 3)
})

test('a call that comes again after a stream was lost is shown once', () => {
  const { routers } = applyAll(
    ['calls@a', { run: 'x', calls: [call(1, 100)], notShown: 0 }],
    ['calls@a', { run: 'x', calls: [call(1, 100), call(2, 300)], notShown: 0 }],
  )
  assert.deepEqual(merged(routers).calls.map(keyOf), ['a 2', 'a 1'])
})

test('points of the same five seconds are added, with the quantiles of the slower router', () => {
  const { routers } = applyAll(
    ['points@a', { points: [point(10_000, 2, 30), point(15_000, 1, 5)], long: [] }],
    ['points@b', { points: [point(12_000, 3, 90)], long: [] }],
  )
  const { points } = merged(routers)
  assert.deepEqual(
    points.map(({ calls, serverMs, direct }) => [calls.ok, serverMs?.p95, direct]),
    [
      [5, 90, 20],
      [1, 5, 10],
    ],
  )
})

test('a removed router is forgotten, and a refusal ends with the first answer', () => {
  const known = applyAll(
    ['refused', { error: 'A bearer token is required.' }],
    ['calls@a', { run: 'x', calls: [call(1, 100)], notShown: 0 }],
    ['calls@b', { run: 'y', calls: [call(1, 200)], notShown: 0 }],
    ['routers', { pods: ['b'] }],
    ['some-event-of-a-newer-operator', {}],
  )
  assert.equal(known.refused, undefined)
  assert.deepEqual(merged(known.routers).calls.map(keyOf), ['b 1'])
})

test('lists are read again when the first and when the last router serves a new catalog, and not when a router is replaced', () => {
  const versionOf = (...events: [name: string, data: unknown][]) =>
    listsVersion(merged(applyAll(...events).routers).state)
  const both = versionOf(['state@a', state('old')], ['state@b', state('old')])
  const first = versionOf(['state@a', state('new')], ['state@b', state('old')])
  const last = versionOf(['state@a', state('new')], ['state@b', state('new')])
  assert.equal(new Set([both, first, last]).size, 3)
  assert.equal(versionOf(['state@a', state('old')], ['state@b', state('new')]), first)
  assert.equal(versionOf(['state@c', state('new')]), last)
})

test('routers that are too old to say which catalog they serve have lists read again by their lengths', () => {
  const version = listsVersion(state())
  assert.equal(version, '7 2 0')
  assert.equal(
    listsVersion({ ...state(), totals: { servers: 1, tools: 8, resources: 2, templates: 0 } }),
    '8 2 0',
  )
  const { routers } = applyAll(['state@a', state()], ['state@b', state('new')])
  assert.equal(listsVersion(merged(routers).state), '7 2 0,new')
})
