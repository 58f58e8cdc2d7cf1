/** When a server's lists are read again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mcpServerSchema } from '../../../crds/server.ts'
import { createSchedule, discoveryIntervalMs } from './schedule.ts'

const INTERVAL_MS = 600_000

function readAt(now: number, random = 0.5) {
  const schedule = createSchedule(() => random)
  schedule.began()
  schedule.succeeded(now, true)
  return schedule
}

test('lists that were never read are due', () => {
  assert.ok(createSchedule(() => 0.5).dueAt(INTERVAL_MS) < 0)
})

test('the current interval counts, with up to a tenth of jitter', () => {
  assert.equal(readAt(1_000, 1).dueAt(INTERVAL_MS), 661_000)
  assert.equal(readAt(1_000, 1).dueAt(60_000), 67_000)
  assert.equal(readAt(1_000, 0).dueAt(60_000), 55_000)
})

test('the interval of a manifest is never less than a second', () => {
  const server = mcpServerSchema.parse({
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpServer',
    metadata: { name: 'web', namespace: 'team' },
    spec: { remote: { url: 'https://example.com/mcp' }, discovery: { interval: '10ms' } },
  })
  assert.equal(discoveryIntervalMs(server), 1_000)
})

test('after list_changed a server is read soon, at most once a second; further notifications do not delay it', () => {
  const schedule = readAt(5_000)
  schedule.changed(5_100)
  schedule.changed(5_900)
  assert.equal(schedule.dueAt(INTERVAL_MS), 6_000)
  const quiet = readAt(5_000)
  quiet.changed(9_000)
  assert.equal(quiet.dueAt(INTERVAL_MS), 9_200)
  quiet.succeeded(5_000, true, 100)
  assert.equal(quiet.dueAt(INTERVAL_MS), 5_100)
})

test('after list_changed without a real change the delay grows, up to a minute, until a list has changed', () => {
  const schedule = readAt(0)
  const gapAfter = (isNew: boolean): number => {
    schedule.changed(0)
    schedule.began()
    schedule.succeeded(0, isNew)
    schedule.changed(0)
    return schedule.dueAt(INTERVAL_MS)
  }
  assert.deepEqual(
    Array.from({ length: 7 }, () => gapAfter(false)),
    [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000],
  )
  assert.equal(gapAfter(true), 1_000)
})

test('list_changed during a read leads to another read', () => {
  const schedule = readAt(0)
  schedule.changed(2_000)
  schedule.began()
  schedule.changed(2_100)
  schedule.succeeded(3_000, true)
  assert.equal(schedule.dueAt(INTERVAL_MS), 4_000)
})

test('a read that was cancelled is still due', () => {
  const schedule = readAt(0)
  schedule.changed(2_000)
  schedule.began()
  schedule.interrupted()
  schedule.changed(3_000)
  assert.equal(schedule.dueAt(INTERVAL_MS), 2_200)
})

test('failures are retried with growing delays: up to 10 s for remote servers, up to a minute for others', () => {
  const waits = (what: 'process' | 'pods' | 'remote' | 'refused') => {
    const schedule = createSchedule(() => 1)
    return Array.from({ length: 20 }, () => {
      schedule.failed(0, what)
      return schedule.dueAt(INTERVAL_MS)
    }).filter((_, at) => [0, 1, 5, 6, 19].includes(at))
  }
  assert.deepEqual(waits('remote'), [200, 400, 6_400, 10_000, 10_000])
  assert.deepEqual(waits('pods'), [200, 400, 6_400, 12_800, 60_000])
  assert.deepEqual(waits('refused'), [200, 400, 6_400, 12_800, 60_000])
  assert.deepEqual(waits('process'), [1_000, 2_000, 32_000, 60_000, 60_000])
})

test('a success resets the delay after failures', () => {
  const schedule = createSchedule(() => 1)
  for (let round = 0; round < 3; round++) schedule.failed(0, 'pods')
  assert.equal(schedule.failures, 3)
  schedule.succeeded(0, true)
  assert.equal(schedule.failures, 0)
})
