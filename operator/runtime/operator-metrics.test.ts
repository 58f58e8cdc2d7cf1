/** The operator's metrics of servers and gateways are read from its caches at the scrape. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../test/support/manual-clock.ts'
import type { Manifest } from './caches.ts'
import { MAX_OBJECT_SERIES, type ObjectCaches } from './object-metrics.ts'
import { createOperatorMetrics } from './operator-metrics.ts'

test('every condition has its reason, and a value of 1 where it is true', async () => {
  const { lines } = watched({
    'team/well': manifest('McpServer', [condition('Ready', 'True', 'Ready')], { count: 3, tokens: 240 }),
    'team/down': manifest('McpServer', [condition('Ready', 'False', 'CrashLooping')]),
    'team/new': manifest('McpServer', []),
  })
  assert.deepEqual(await lines('portolan_server_condition'), [
    '{namespace="team",server="well",type="Ready",reason="Ready"} 1',
    '{namespace="team",server="down",type="Ready",reason="CrashLooping"} 0',
  ])
  assert.deepEqual(await lines('portolan_server_tools'), ['{namespace="team",server="well"} 3'])
  assert.deepEqual(await lines('portolan_server_tool_tokens'), ['{namespace="team",server="well"} 240'])
  assert.deepEqual(await lines('portolan_objects'), [
    '{kind="McpServer",ready="True",reason="Ready"} 1',
    '{kind="McpServer",ready="False",reason="CrashLooping"} 1',
    '{kind="McpServer",ready="Unknown",reason=""} 1',
  ])
})

test('the metric of a gateway is the newest generation written for its routers', async () => {
  const gateways = {
    'team/tools': manifest('McpGateway', [condition('Ready', 'False', 'Starting')]),
    'team/unfed': manifest('McpGateway', []),
  }
  const { lines } = watched({}, gateways)
  assert.deepEqual(await lines('portolan_gateway_condition'), [
    '{namespace="team",gateway="tools",type="Ready",reason="Starting"} 0',
  ])
  assert.deepEqual(await lines('portolan_feed_generation'), ['{namespace="team",gateway="tools"} 4711'])
})

test('the age of a list counts from its last successful read; before, and once the server is deleted, it has none', async () => {
  const servers: Record<string, Manifest> = { 'team/a': manifest('McpServer', []) }
  const { metrics, clock, lines, gone } = watched(servers)
  assert.deepEqual(await lines('portolan_list_age_seconds'), [])
  const record = { server: 'team/a', ok: false, durationMs: 20, intervalMs: 600_000 }
  metrics.discovered(record)
  clock.advance(5_000)
  metrics.discovered(record)
  assert.deepEqual(await lines('portolan_list_age_seconds'), [])
  assert.deepEqual(await lines('portolan_list_interval_seconds'), ['{namespace="team",server="a"} 600'])
  metrics.discovered({ ...record, ok: true })
  clock.advance(1_000)
  metrics.discovered(record)
  assert.deepEqual(await lines('portolan_list_age_seconds'), ['{namespace="team",server="a"} 1'])
  gone('team', 'a')
  assert.deepEqual(await lines('portolan_list_age_seconds'), [])
})

test('the series of objects are bounded, and all are counted', async () => {
  const many = Array.from({ length: MAX_OBJECT_SERIES + 10 }, (_, at) => `team/s${at}`)
  const { lines } = watched(
    Object.fromEntries(many.map(key => [key, manifest('McpServer', [condition('Ready', 'True', 'Ready')])])),
  )
  assert.equal((await lines('portolan_server_condition')).length, MAX_OBJECT_SERIES)
  assert.deepEqual(await lines('portolan_objects'), [
    `{kind="McpServer",ready="True",reason="Ready"} ${MAX_OBJECT_SERIES + 10}`,
  ])
})

type Listener = (before: Manifest | undefined, now: Manifest | undefined) => void

function watched(servers: Record<string, Manifest>, gateways: Record<string, Manifest> = {}) {
  const clock = createManualClock()
  const metrics = createOperatorMetrics(clock)
  const listeners: Listener[] = []
  const feed = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'tools-router', resourceVersion: '4711' },
  }
  const cacheOf = (objects: Record<string, Manifest>) => ({
    get: (key: string) => objects[key],
    onChange(listener: Listener) {
      listeners.push(listener)
      return () => {}
    },
    get objects() {
      return new Map(Object.entries(objects))
    },
  })
  const caches = {
    servers: cacheOf(servers),
    gateways: cacheOf(gateways),
    configMaps: { get: (key: string) => (key === 'team/tools-router' ? feed : undefined) },
  }
  metrics.watchObjects(caches as unknown as ObjectCaches)
  const lines = async (name: string) => {
    const text = await metrics.registry.getSingleMetricAsString(name)
    return [...text.matchAll(new RegExp(`^${name}(.*)$`, 'gm'))].map(([, rest]) => rest)
  }
  const gone = (namespace: string, name: string) => {
    const before = { ...manifest('McpServer', []), metadata: { namespace, name } }
    for (const listener of listeners) listener(before, undefined)
  }
  return { metrics, clock, lines, gone }
}

function condition(type: string, status: 'True' | 'False', reason: string) {
  return { type, status, reason, message: '', lastTransitionTime: '2026-11-22T00:00:00Z' }
}

function manifest(
  kind: string,
  conditions: ReturnType<typeof condition>[],
  tools?: { count: number; tokens: number },
): Manifest {
  return { apiVersion: 'portolan.dev/v1alpha1', kind, metadata: { name: '' }, status: { conditions, tools } }
}
