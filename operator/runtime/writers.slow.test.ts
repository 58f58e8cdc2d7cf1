/** Status, Secrets and events on a real API server: ownership, and no unnecessary writes. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { EventsV1Event, V1Secret } from '@kubernetes/client-node'
import { type Kube, type KubeObject, refOf } from '../../core/kube/object.ts'
import { createLog } from '../../core/log.ts'
import type { Condition } from '../../crds/conditions.ts'
import { type ApiServer, skipApiServer, startApiServer } from '../../test/support/api-server.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import type { PlannedCondition } from '../plan/plan.ts'
import { createStatusWriter, type ObjectWithStatus } from './apply-status.ts'
import { createSecretKeeper } from './ensure-secret.ts'
import { createEventRecorder, REPEAT_MS } from './events.ts'
import { createOperatorMetrics } from './operator-metrics.ts'

const skip = skipApiServer()
const START_LIMIT_MS = 120_000
const START = Date.parse('2026-11-22T10:00:00Z')
const never = new AbortController().signal
const log = createLog({ level: 'silent' })
const metrics = createOperatorMetrics()

type Server = ObjectWithStatus & { status?: { tools?: object; endpoint?: string; protocol?: string } }
type Secret = Kube<V1Secret>

let api: ApiServer

before(
  async () => {
    if (skip) return
    api = await startApiServer()
    await api.namespace('team')
  },
  { timeout: START_LIMIT_MS },
)
after(() => api?.stop())

test('two managers write their own parts and conditions of one status', { skip }, async () => {
  const object = await createServer('shared')
  const { ofServer, ofDiscovery } = writers()
  await ofServer(
    object,
    { conditions: [condition('Ready', 'False', 'Starting')], endpoint: 'http://a' },
    never,
  )
  await ofDiscovery(
    object,
    { conditions: [condition('ToolsDiscovered', 'True', 'Discovered')], protocol: '1' },
    never,
  )
  await ofServer(await read('shared'), { conditions: [condition('Ready', 'True', 'Ready')] }, never)
  const { status } = await read('shared')
  assert.deepEqual(
    status?.conditions?.map(({ type, status: value }) => [type, value]),
    [
      ['Ready', 'True'],
      ['ToolsDiscovered', 'True'],
    ],
  )
  assert.deepEqual([status?.protocol, status?.endpoint], ['1', undefined])
})

test('an unchanged status is not written, whatever others added', { skip }, async () => {
  const object = await createServer('same')
  const { ofServer, ofDiscovery } = writers()
  const status = {
    conditions: [condition('Ready', 'True', 'Ready')],
    endpoint: 'http://a',
    replicas: { wanted: 1 },
  }
  const first = await ofServer(object, status, never)
  assert.equal(first.written, true)
  await ofDiscovery(object, { tools: { count: 2 } }, never)
  const before = await read('same')
  const again = { replicas: { wanted: 1 }, endpoint: 'http://a', conditions: status.conditions }
  assert.deepEqual(await ofServer(before, again, never), { written: false, changed: [] })
  assert.equal((await read('same')).metadata.resourceVersion, before.metadata.resourceVersion)
})

test('a status is not written again before the cache has it', { skip }, async () => {
  const stale = await createServer('stale')
  const { clock, ofServer } = writers()
  const status = { conditions: [condition('Ready', 'True', 'Ready')] }
  await ofServer(stale, status, never)
  clock.advance(60_000)
  assert.equal((await ofServer(stale, status, never)).written, false)
})

test('the transition time of a condition changes only with its status', {
  skip,
}, async () => {
  const object = await createServer('times')
  const { clock, ofServer } = writers()
  const write = async (value: PlannedCondition) =>
    ofServer(await read('times'), { conditions: [value] }, never)
  const first = await ofServer(object, { conditions: [condition('Ready', 'False', 'Starting')] }, never)
  assert.deepEqual(times(first.changed), ['2026-11-22T10:00:00Z'])
  clock.advance(60_000)
  const second = await write(condition('Ready', 'False', 'CrashLooping'))
  assert.deepEqual(times(second.changed), ['2026-11-22T10:00:00Z'])
  const third = await write({ ...condition('Ready', 'False', 'CrashLooping'), message: 'other words' })
  assert.deepEqual([third.written, third.changed], [true, []])
  const fourth = await write(condition('Ready', 'True', 'Ready'))
  assert.deepEqual(times(fourth.changed), ['2026-11-22T10:01:00Z'])
})

test('writing the status of an object that is gone is no error', {
  skip,
}, async () => {
  const object = await createServer('gone')
  const { ofServer } = writers()
  const status = { conditions: [condition('Ready', 'True', 'Ready')] }
  await api.client.delete(refOf(object))
  assert.deepEqual(await ofServer(object, status, never), { written: false, changed: [] })
})

test('a Secret is created once, with 32 random bytes for each key; later nothing is read or written', {
  skip,
}, async () => {
  const owner = await createServer('secret')
  const ensured = { ...wanted('mcp-secret'), keys: ['token', 'other'] }
  const ensure = keeper()
  assert.deepEqual(await ensure(owner, [ensured], () => undefined, never), { taken: [], written: 1 })
  const made = await readSecret('mcp-secret')
  const [token, other] = [textOf(made, 'token'), textOf(made, 'other')]
  assert.match(token, /^[\w-]{43}$/)
  assert.notEqual(token, other)
  assert.equal(made.metadata.ownerReferences?.[0]?.name, 'secret')
  for (const again of [ensure, keeper()]) {
    const result = await again(owner, [ensured], () => made, never)
    assert.deepEqual(result, { taken: [], written: 0 })
  }
  assert.equal((await readSecret('mcp-secret')).metadata.resourceVersion, made.metadata.resourceVersion)
})

test('a key that was deleted gets a new value, the others keep theirs', { skip }, async () => {
  const owner = await createServer('rotated')
  const ensured = { ...wanted('mcp-rotated'), keys: ['token', 'other'] }
  const ensure = keeper()
  await ensure(owner, [ensured], () => undefined, never)
  const before = await readSecret('mcp-rotated')
  const change = JSON.stringify({ data: { token: null } })
  await api.kubectl(['patch', '-nteam', 'secret/mcp-rotated', '--type=merge', `--patch=${change}`])
  const seen = await readSecret('mcp-rotated')
  assert.equal((await ensure(owner, [ensured], () => seen, never)).written, 1)
  const now = await readSecret('mcp-rotated')
  assert.equal(textOf(now, 'other'), textOf(before, 'other'))
  assert.match(textOf(now, 'token'), /^[\w-]{43}$/)
  assert.notEqual(textOf(now, 'token'), textOf(before, 'token'))
})

test('a Secret of another owner is never changed', { skip }, async () => {
  const owner = await createServer('foreign')
  const theirs = await api.client.create<Secret>({ ...secret('mcp-foreign'), data: {} })
  const { taken, written } = await keeper()(owner, [wanted('mcp-foreign')], () => undefined, never)
  assert.deepEqual([taken, written], [[refOf(theirs)], 0])
  assert.equal((await readSecret('mcp-foreign')).metadata.resourceVersion, theirs.metadata.resourceVersion)
})

test('a changed condition is an event, at most once in ten minutes, and a warning if it means a failure', {
  skip,
}, async () => {
  const object = await createServer('events')
  const clock = createManualClock(START)
  const { conditionsChanged } = createEventRecorder({ client: api.client, instance: 'pod-1', log, clock })
  const timed = (...given: Parameters<typeof condition>): Condition => ({
    ...condition(...given),
    lastTransitionTime: '2026-11-22T10:00:00Z',
  })
  const crashed = timed('Ready', 'False', 'CrashLooping')
  await conditionsChanged(object, [timed('Ready', 'False', 'Starting'), crashed])
  await conditionsChanged(object, [crashed, timed('Ready', 'True', 'Ready')])
  const query = { apiVersion: 'events.k8s.io/v1', kind: 'Event', namespace: 'team' }
  const sentEvents = async () =>
    (await api.client.list<Kube<EventsV1Event>>(query)).items
      .filter(({ regarding }) => regarding?.uid === object.metadata.uid)
      .map(({ type, reason }) => `${type} ${reason}`)
      .sort()
  assert.deepEqual(await sentEvents(), ['Normal Ready', 'Normal Starting', 'Warning CrashLooping'])
  clock.advance(REPEAT_MS)
  await conditionsChanged(object, [crashed])
  assert.equal((await sentEvents()).length, 4)
})

test('an event that cannot be sent has no effect', { skip }, async () => {
  const object = await createServer('silent')
  const client = { create: () => Promise.reject(new Error('refused')) }
  const recorder = createEventRecorder({ client, instance: 'pod-1', log, clock: createManualClock() })
  await recorder.conditionsChanged(object, [
    { ...condition('Ready', 'True', 'Ready'), lastTransitionTime: '2026-11-22T10:00:00Z' },
  ])
})

function writers() {
  const clock = createManualClock(START)
  const { client } = api
  const common = { client, clock, metrics }
  return {
    clock,
    ofServer: createStatusWriter({
      ...common,
      fieldManager: 'portolan-server',
      owned: { fields: ['endpoint', 'replicas'], conditions: ['Accepted', 'Ready'] },
    }),
    ofDiscovery: createStatusWriter({
      ...common,
      fieldManager: 'portolan-discovery',
      owned: { fields: ['tools', 'protocol'], conditions: ['ToolsDiscovered'] },
    }),
  }
}

function keeper() {
  return createSecretKeeper({ client: api.client, log, metrics, fieldManager: 'portolan-server' })
}

function condition(type: string, status: 'True' | 'False', reason: string): PlannedCondition {
  return { type, status, reason, message: `${reason}.`, observedGeneration: 1 }
}

function times(conditions: Condition[]): string[] {
  return conditions.map(({ lastTransitionTime }) => lastTransitionTime)
}

function wanted(name: string) {
  return { name, namespace: 'team', labels: { 'app.kubernetes.io/managed-by': 'portolan' }, keys: ['token'] }
}

function secret(name: string): Secret {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'team' } }
}

async function readSecret(name: string): Promise<Secret> {
  const found = await api.client.get<Secret>(refOf(secret(name)))
  assert.ok(found)
  return found
}

function textOf({ data }: Secret, key: string): string {
  return Buffer.from(data?.[key] ?? '', 'base64').toString()
}

function server(name: string): KubeObject & { spec: object } {
  const spec = { remote: { url: 'http://127.0.0.1/mcp' } }
  return {
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpServer',
    metadata: { name, namespace: 'team' },
    spec,
  }
}

function createServer(name: string): Promise<Server> {
  return api.client.create(server(name))
}

async function read(name: string): Promise<Server> {
  const found = await api.client.get<Server>(refOf(server(name)))
  assert.ok(found)
  return found
}
