/** Gateways and servers as the console lists them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Manifest } from '../runtime/caches.ts'
import { gatewayLine, serverLine } from './cluster-lines.ts'

const named = (kind: string, rest: object): Manifest => ({
  ...{ apiVersion: 'portolan.dev/v1alpha1', kind, metadata: { namespace: 'team', name: 'x' } },
  ...rest,
})
const ready = (status: 'True' | 'False') => ({
  ...{ type: 'Ready', status, reason: 'Ready', message: 'm'.repeat(2_000) },
  lastTransitionTime: '2026-11-25T03:00:00Z',
})

test('an object that the operator has not reconciled yet is not ready, and has no figures', () => {
  assert.deepEqual(gatewayLine(named('McpGateway', {})), {
    ...{ namespace: 'team', name: 'x', ready: false, servers: { selected: 0, ready: 0 }, tools: 0 },
    ...{ tokens: { direct: undefined, exposed: undefined }, generation: undefined, routers: [] },
    ...{ search: undefined, auth: false, url: undefined, conditions: [] },
  })
  assert.equal(serverLine(named('McpServer', {})).ready, false)
})

test('a status is shown with its conditions, and long messages are cut', () => {
  const spec = { auth: { tokens: { secretName: 'people' } } }
  const status = { conditions: [ready('True')], generation: 7, routers: [{ pod: 'a', generation: 6 }] }
  const line = gatewayLine(named('McpGateway', { spec, status }))
  assert.deepEqual([line.ready, line.auth, line.generation, line.routers], [true, true, 7, status.routers])
  const [condition] = line.conditions
  assert.deepEqual([condition?.since, condition?.message.length], [Date.parse('2026-11-25T03:00:00Z'), 1_000])
})
