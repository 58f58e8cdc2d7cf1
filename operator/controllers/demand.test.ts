/** How the reports of routers about servers are added up, and how long they count. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Demand } from './demand.ts'
import type { RouterLoad } from './router-report.ts'

const GATEWAY = 'mcp/tools'
const SERVER = 'mcp/web'
const USE = { active: 0, waiting: 0, asking: 0, held: 0, subscriptions: 0, sessions: 0, instances: {} }

function report(use: Partial<RouterLoad['servers'][number]> = {}): RouterLoad {
  return { servers: [{ name: 'web', ...USE, idleMs: 0, ...use }], waiting: [], logins: [] }
}

function start() {
  const demand = new Demand()
  const changed: string[] = []
  demand.onChange(server => changed.push(server))
  const isKnown = (now: number) => demand.of(SERVER, [GATEWAY], now).isKnown
  return { demand, changed: () => changed.splice(0), isKnown }
}

test('a report counts until the next one is overdue, however long the interval', () => {
  const { demand, isKnown } = start()
  assert.equal(isKnown(0), false)
  demand.set(GATEWAY, [report()], 0, 2_000)
  assert.deepEqual([isKnown(9_999), isKnown(10_000)], [true, false])
  demand.set(GATEWAY, [report()], 10_000, 30_000)
  assert.deepEqual([isKnown(47_999), isKnown(48_000)], [true, false])
})

test('the listener is called with servers whose use has changed, or was unknown in between, and no others', () => {
  const { demand, changed } = start()
  demand.set(GATEWAY, [report()], 0, 30_000)
  assert.deepEqual(changed(), [SERVER])
  demand.set(GATEWAY, [report({ idleMs: 30_000 })], 30_000, 30_000)
  assert.deepEqual(changed(), [])
  demand.set(GATEWAY, [report({ active: 1, idleMs: undefined })], 60_000, 2_000)
  assert.deepEqual(changed(), [SERVER])
  demand.set(GATEWAY, [report({ active: 1, idleMs: undefined })], 71_000, 2_000)
  assert.deepEqual(changed(), [SERVER])
  demand.set(GATEWAY, [report({ active: 1, idleMs: undefined }), undefined], 73_000, 2_000)
  assert.deepEqual(changed(), [SERVER])
})
