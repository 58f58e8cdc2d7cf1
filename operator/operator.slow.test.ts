/** Two operators and one lease on a real API server: which one leads, takes over, and what health and metrics say. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, type TestContext, test } from 'node:test'
import { type Clock, systemClock } from '../core/async.ts'
import { KubeClient } from '../core/kube/client.ts'
import type { KubeObject } from '../core/kube/object.ts'
import { createLog } from '../core/log.ts'
import { type ApiServer, skipApiServer, startApiServer } from '../test/support/api-server.ts'
import { createManualClock } from '../test/support/manual-clock.ts'
import { until } from '../test/support/until.ts'
import { type ControllerSet, LEASE_NAME, type OperatorContext, startOperator } from './operator.ts'
import { createApplier } from './runtime/apply.ts'
import { Queue } from './runtime/queue.ts'

const skip = skipApiServer()
const START_LIMIT_MS = 120_000
const log = createLog({ level: 'silent' })
const manager = { fieldManager: 'test' }
const none = { server: {}, router: {}, install: {} }

type Lease = KubeObject & { spec: { holderIdentity: string } }

let api: ApiServer

before(
  async () => {
    if (skip) return
    api = await startApiServer()
    await Promise.all(
      ['team', 'single', 'both', 'killed', 'lost', 'process'].map(name => api.namespace(name)),
    )
  },
  { timeout: START_LIMIT_MS },
)
after(() => api?.stop())

test('the operator is ready when its caches are synced, leads, and handles existing and new objects', {
  skip,
}, async t => {
  await api.client.apply(server('before', 'single'), manager)
  const { operator, done, seen } = await start(t, 'single')
  await seen('single/before')
  await api.client.apply(server('later', 'single'), manager)
  await seen('single/later')
  const [health, ready, metrics] = await Promise.all(
    ['healthz', 'readyz', 'metrics'].map(page => fetch(`http://127.0.0.1:${operator.port}/${page}`)),
  )
  assert.deepEqual([health?.status, ready?.status], [200, 200])
  const text = (await metrics?.text()) ?? ''
  assert.match(text, /^portolan_leader 1$/m)
  assert.match(text, /^portolan_objects\{kind="McpServer",ready="Unknown",reason=""\} 2$/m)
  assert.match(text, /portolan_reconcile_duration_seconds_count\{controller="mark",result="ok"\} [2-9]/)
  assert.match(text, /portolan_api_writes_total\{kind="ConfigMap",verb="apply"\} 2/)
  await operator.stop()
  assert.equal(done.closed, true)
  assert.equal((await lease('single')).spec.holderIdentity, '')
  await assert.rejects(fetch(`http://127.0.0.1:${operator.port}/healthz`))
})

test('a second operator waits, and leads as soon as the first stops gracefully', { skip }, async t => {
  const first = await start(t, 'both')
  await api.client.apply(server('one', 'both'), manager)
  await first.seen('both/one')
  const second = await start(t, 'both')
  await untilReady(second.operator.port)
  assert.deepEqual(second.done.keys, [])
  await first.operator.stop()
  await second.seen('both/one')
  await second.operator.stop()
})

test('when the leading process is killed, the other operator leads', { skip }, async t => {
  const child = await startProcess(t, 'killed')
  await until(async () => (await lease('killed'))?.spec.holderIdentity.startsWith('first_'))
  await api.client.apply(server('one', 'killed'), manager)
  const clock = createManualClock()
  const { seen, done } = await start(t, 'killed', clock)
  await until(async () => clock.pending() > 0)
  child.kill('SIGKILL')
  await once(child, 'exit')
  const taken = seen('killed/one')
  assert.deepEqual(done.keys, [])
  await until(async () => {
    clock.advance(1_000)
    return (await lease('killed')).spec.holderIdentity.startsWith('second_')
  })
  await taken
})

test('an operator that loses the lease ends with the reason LeaseLost', { skip }, async t => {
  const clock = createManualClock()
  const { operator, seen } = await start(t, 'lost', clock)
  await api.client.apply(server('one', 'lost'), manager)
  await seen('lost/one')
  const held = await lease('lost')
  await api.client.replace({ ...held, spec: { ...held.spec, holderIdentity: 'thief' } } as Lease)
  const lost = assert.rejects(operator.ended, { reason: 'LeaseLost' })
  clock.advance(2_400)
  await lost
})

test('SIGTERM releases the lease and ends the process with 0; a wrong environment ends it with 2', {
  skip,
}, async t => {
  const child = await startProcess(t, 'process')
  await until(async () => (await lease('process'))?.spec.holderIdentity.startsWith('first_'))
  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'exit'), [0, null])
  assert.equal((await lease('process')).spec.holderIdentity, '')
  const wrong = spawnOperator({ PORTOLAN_IMAGE: '' })
  t.after(() => wrong.kill('SIGKILL'))
  const [line] = await once(createInterface({ input: wrong.stderr }), 'line')
  assert.match(JSON.parse(line).msg, /PORTOLAN_IMAGE is required/)
  assert.deepEqual(await once(wrong, 'exit'), [2, null])
})

/** An operator whose only controller makes a ConfigMap for each server of a namespace. */
async function start(t: TestContext, namespace: string, clock: Clock = systemClock) {
  const [client, leaseClient] = [new KubeClient(api.access), new KubeClient(api.access)]
  const done = { keys: [] as string[], closed: false }
  const waiting = new Map<string, () => void>()
  const worked = (key: string) => {
    done.keys.push(key)
    waiting.get(key)?.()
  }
  const operator = await startOperator({
    client,
    leaseClient,
    createControllers: context =>
      marker(context, worked, () => {
        done.closed = true
      }),
    settings: {
      namespace,
      image: 'none',
      imagePullPolicy: 'Never',
      imagePullSecrets: [],
      delivery: 'initContainer',
      npm: { image: 'none' },
      pypi: { image: 'none' },
      waves: { share: 0.1, perNamespace: 1 },
      networkPolicies: true,
      tokenReviewBinding: '',
      dns: [],
      metricsFrom: [],
      permitted: { podFields: [], registries: [], remoteHosts: [], refusedAddresses: [] },
      resources: none,
      routerTracing: {},
    },
    namespaces: [namespace],
    pod: 'second',
    resyncMs: 3_600_000,
    discoveryConcurrency: 1,
    openEncoder: async () => undefined,
    port: 0,
    log,
    clock,
  })
  t.after(async () => {
    await operator.stop()
    await Promise.all([client.close(), leaseClient.close()])
  })
  const seen = (key: string) =>
    new Promise<void>(resolve => {
      waiting.set(key, resolve)
      if (done.keys.includes(key)) resolve()
    })
  return { operator, done, seen }
}

function marker(context: OperatorContext, worked: (key: string) => void, closed: () => void): ControllerSet {
  const { caches, clock } = context
  const queue = new Queue({ clock })
  const { apply } = createApplier({ ...context, fieldManager: 'marker' })
  caches.servers.onChange((before, now) => {
    const { namespace, name } = (now ?? before)?.metadata ?? {}
    queue.add(`${namespace}/${name}`)
  })
  const reconcile = async (key: string, signal: AbortSignal) => {
    const found = caches.servers.get(key)
    const metadata = { name: `${found?.metadata.name}-mark` }
    if (found) await apply(found, [{ apiVersion: 'v1', kind: 'ConfigMap', metadata }], caches.find, signal)
    worked(key)
    return undefined
  }
  const close = async () => closed()
  return { controllers: [{ name: 'mark', queue, workers: 2, reconcile }], close }
}

/** The real operator as a process. */
async function startProcess(t: TestContext, namespace: string) {
  const image = { PORTOLAN_IMAGE: 'none' }
  const child = spawnOperator({
    ...image,
    PORTOLAN_NAMESPACE: namespace,
    PORTOLAN_WATCH_NAMESPACES: namespace,
  })
  child.stderr.resume()
  t.after(() => child.kill('SIGKILL'))
  return child
}

function spawnOperator(env: Record<string, string>) {
  const main = join(import.meta.dirname, 'main.ts')
  return spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, KUBECONFIG: api.kubeconfig, PORTOLAN_POD: 'first', PORTOLAN_PORT: '0', ...env },
  })
}

async function lease(namespace: string): Promise<Lease> {
  const ref = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', namespace, name: LEASE_NAME }
  return (await api.client.get<Lease>(ref)) as Lease
}

function untilReady(port: number): Promise<true> {
  return until(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok)
}

function server(name: string, namespace: string): KubeObject {
  const spec = { remote: { url: 'http://127.0.0.1:1/mcp' } }
  const object = {
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpServer',
    metadata: { name, namespace },
    spec,
  }
  return object
}
