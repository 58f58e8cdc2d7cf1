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
  const { probe, reconcile, objects, answers } = begin()
  await reconcile()
  assert.deepEqual(probe.last(KEY)?.handshake, { ok: true })
  objects.deployment.generation = 2
  const stop = new AbortController()
  answers(async () => {
    stop.abort()
    throw new Fault('cancelled', 'the operator ends')
  })
  await assert.rejects(reconcile(stop.signal))
  answers(nobody)
  await reconcile()
  assert.deepEqual(probe.last(KEY)?.handshake, UNREACHABLE)
})

test('a changed Service or NetworkPolicy is checked by a new handshake', async () => {
  const { probe, reconcile, objects, answers } = begin()
  await reconcile()
  answers(nobody)
  await reconcile()
  assert.deepEqual(probe.last(KEY)?.handshake, { ok: true })
  objects.service.resourceVersion = '2'
  await reconcile()
  assert.deepEqual(probe.last(KEY)?.handshake, UNREACHABLE)
  objects.policy.generation = 2
  answers(client)
  await reconcile()
  assert.deepEqual(probe.last(KEY)?.handshake, { ok: true })
})

test('a gateway whose limit refuses the operator answers', async () => {
  const { probe, reconcile, answers } = begin()
  answers(async () => {
    throw new Fault('upstream_rejected', 'The limit is reached.', { details: { status: 429 } })
  })
  await reconcile()
  assert.deepEqual(probe.last(KEY)?.handshake, { ok: true })
})

test('a gateway that asks the operator for credentials answers, and is not asked more often', async () => {
  const { probe, reconcile, answers } = begin({ spec: { auth: {} } })
  let asked = 0
  answers(async () => {
    asked++
    throw new Fault('upstream_auth_required', 'who are you?')
  })
  await reconcile()
  await reconcile()
  assert.deepEqual(probe.last(KEY)?.handshake, { ok: true })
  assert.equal(asked, 1)
})

const never = new AbortController().signal
const client = async (): Promise<Client> => ({ close: async () => {} }) as unknown as Client
const nobody = async (): Promise<Client> => {
  throw new Fault('upstream_unreachable', 'nobody answers')
}
const UNREACHABLE = { ok: false, message: 'nobody answers' }

/** A probe of a gateway whose router is available. `answers` sets what a handshake does. */
function begin(gateway: object = {}) {
  let connect = client
  const objects = {
    deployment: { uid: 'a', generation: 1 },
    service: { uid: 'b', resourceVersion: '1' },
    policy: { uid: 'c', generation: 1 },
  }
  const { deployment, service, policy } = objects
  const none = { get: () => undefined, onChange: () => () => {} }
  const caches = {
    gateways: { ...none, get: () => ({ metadata: { uid: 'g' }, ...gateway }) },
    deployments: { get: () => ({ metadata: deployment, status: { availableReplicas: 1 } }) },
    services: { get: () => ({ metadata: service }) },
    networkPolicies: { get: () => ({ metadata: policy }) },
    configMaps: none,
    podsOf: () => [],
    onOwnedChange: () => {},
  } as unknown as Caches
  const clock = createManualClock()
  const probe = createGatewayProbe({
    ...{ caches, clock, random: () => 0.5, onChange: () => {} },
    connect: () => connect(),
  })
  return {
    ...{ probe, clock, objects },
    reconcile: (signal = never) => probe.controller.reconcile(KEY, signal),
    answers: (next: typeof client) => {
      connect = next
    },
  }
}
