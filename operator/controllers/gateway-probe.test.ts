/** When the handshake with a gateway is repeated. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '../../core/errors.ts'
import type { connectSdkClient } from '../../core/mcp/client/sdk-client.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import type { Caches } from '../runtime/caches.ts'
import { createGatewayProbe } from './gateway-probe.ts'

const KEY = 'team/tools'
type Client = Awaited<ReturnType<typeof connectSdkClient>>

test('a handshake that was aborted is made again, and does not count as one with the new Deployment', async () => {
  let generation = 1
  let connect = async (): Promise<Client> => ({ close: async () => {} }) as unknown as Client
  const none = { get: () => undefined, onChange: () => () => {} }
  const caches = {
    gateways: { ...none, get: () => ({}) },
    deployments: { get: () => ({ metadata: { uid: 'a', generation }, status: { availableReplicas: 1 } }) },
    configMaps: none,
    podsOf: () => [],
    onOwnedChange: () => {},
  } as unknown as Caches
  const clock = createManualClock()
  const probe = createGatewayProbe({
    ...{ caches, clock, random: () => 0.5, onChange: () => {} },
    connect: () => connect(),
  })
  const reconcile = (signal: AbortSignal) => probe.controller.reconcile(KEY, signal)
  const never = new AbortController().signal
  await reconcile(never)
  assert.deepEqual(probe.last(KEY)?.handshake, { ok: true })
  generation = 2
  const stop = new AbortController()
  connect = async () => {
    stop.abort()
    throw new Fault('cancelled', 'the operator ends')
  }
  await assert.rejects(reconcile(stop.signal))
  connect = async () => {
    throw new Fault('upstream_unreachable', 'nobody answers')
  }
  await reconcile(never)
  assert.deepEqual(probe.last(KEY)?.handshake, { ok: false, message: 'nobody answers' })
})
