/** What the script controller does while the API server does not answer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../core/kube/api-error.ts'
import type { KubeObject } from '../../core/kube/object.ts'
import { createLog } from '../../core/log.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import type { OperatorContext } from '../operator.ts'
import type { Caches, Manifest } from '../runtime/caches.ts'
import { createOperatorMetrics } from '../runtime/operator-metrics.ts'
import { createManifests } from './parsed-manifests.ts'
import { createScriptController } from './script-controller.ts'
import type { SliceSets } from './slice-sets.ts'

const never = new AbortController().signal
const object = (kind: string, name: string, spec: object): Manifest => ({
  ...{ apiVersion: 'portolan.dev/v1alpha1', kind, spec },
  metadata: { name, namespace: 'team', uid: name, generation: 1 },
})

/** `read`: reads the list of the tools of the server. */
function begin(read: () => Promise<KubeObject | undefined>) {
  const written: unknown[] = []
  const cache = (one: Manifest) => ({
    objects: new Map([[`team/${one.metadata.name}`, one]]),
    get: () => one,
    onChange: () => () => {},
  })
  const clock = createManualClock()
  const context = {
    client: { get: read, applyStatus: async (status: unknown) => written.push(status) },
    caches: {
      scripts: cache(
        object('McpScript', 'report', { description: 'Reports', code: 'await tools.jira.gone({})' }),
      ),
      gateways: cache(object('McpGateway', 'tools', { code: { enabled: true } })),
      servers: cache(object('McpServer', 'jira', { remote: { url: 'https://jira.example/mcp' } })),
    } as unknown as Caches,
    log: createLog({ level: 'silent' }),
    metrics: createOperatorMetrics(clock),
    events: { conditionsChanged: async () => {} },
    clock,
    random: () => 0.5,
  } as unknown as OperatorContext
  const slices = { whole: () => ({ digest: 'a', parts: 1 }) } as unknown as SliceSets
  const { controller } = createScriptController({ ...context, manifests: createManifests(), slices })
  return { written, reconcile: () => controller.reconcile('team/report', never) }
}

test('if the API server does not answer, nothing is reported, and the script is tried again', async () => {
  const { reconcile, written } = begin(async () => {
    throw new ApiError(0, 'Unreachable', 'away')
  })
  await assert.rejects(reconcile(), ApiError)
  assert.deepEqual(written, [])
})

test('while a newer list of tools is being written, no tool counts as unknown', async () => {
  const { reconcile, written } = begin(async () => undefined)
  await reconcile()
  assert.equal(written.length, 1)
  assert.match(JSON.stringify(written), /Offered by tools\./)
})
