/** What is written to a real API server, and above all what is not. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { V1ConfigMap, V1Deployment, V1NetworkPolicy, V1Role, V1Service } from '@kubernetes/client-node'
import { type Kube, type KubeObject, type ObjectRef, refOf } from '../../core/kube/object.ts'
import { createLog } from '../../core/log.ts'
import { type ApiServer, skipApiServer, startApiServer } from '../../test/support/api-server.ts'
import { APPLIED_ANNOTATION, createApplier, type Observed } from './apply.ts'
import { createOperatorMetrics } from './operator-metrics.ts'

const skip = skipApiServer()
const START_LIMIT_MS = 120_000
const never = new AbortController().signal
const log = createLog({ level: 'silent' })
const fieldManager = 'portolan-server'
/** As if the caches were empty: every object is read from the API server. */
const unknown: Observed = () => undefined

type ConfigMap = Kube<V1ConfigMap>
type Service = Kube<V1Service>
type Role = Kube<V1Role>

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

test('objects get their owner, namespace and hash; a second apply writes nothing', { skip }, async () => {
  const owner = await createOwner('twice')
  const objects = [service('mcp-twice'), configMap('twice-catalog-0', 'a')]
  const first = applier()
  assert.deepEqual(await first.apply(owner, objects, unknown, never), { taken: [], written: 2, drift: [] })
  const made = await read<Service>(objects[0])
  const { uid } = owner.metadata
  const reference = { apiVersion: owner.apiVersion, kind: 'McpServer', name: 'twice', uid }
  assert.deepEqual(made.metadata.ownerReferences, [
    { ...reference, controller: true, blockOwnerDeletion: true },
  ])
  assert.equal(made.metadata.namespace, 'team')
  for (const again of [first, applier()]) {
    assert.deepEqual(await again.apply(owner, objects, unknown, never), { taken: [], written: 0, drift: [] })
  }
  assert.equal((await read(objects[0])).metadata.resourceVersion, made.metadata.resourceVersion)
})

test('only the changed object is written, and a field that is no longer wanted is removed', {
  skip,
}, async () => {
  const owner = await createOwner('changed')
  const { apply } = applier()
  const other = configMap('changed-catalog-1', 'b')
  await apply(owner, [configMap('changed-catalog-0', 'a'), other], unknown, never)
  const before = await read(other)
  const changed = { ...configMap('changed-catalog-0', 'a'), data: { more: 'c' } }
  assert.deepEqual(await apply(owner, [changed, other], unknown, never), { taken: [], written: 1, drift: [] })
  assert.deepEqual((await read<ConfigMap>(changed)).data, { more: 'c' })
  assert.equal((await read(other)).metadata.resourceVersion, before.metadata.resourceVersion)
})

test('manual changes are reverted, and entries added to a map stay', { skip }, async () => {
  const owner = await createOwner('drift')
  const { apply } = applier()
  const wanted = service('mcp-drift')
  await apply(owner, [wanted], unknown, never)
  await api.kubectl(
    patch('service/mcp-drift', {
      metadata: { annotations: { theirs: 'yes' } },
      spec: { sessionAffinity: 'ClientIP', ports: [{ port: 80, targetPort: 9999 }] },
    }),
  )
  assert.equal((await apply(owner, [wanted], unknown, never)).written, 1)
  const mended = await read<Service>(wanted)
  assert.equal(mended.spec?.ports?.[0]?.targetPort, 'http')
  assert.equal(mended.spec?.sessionAffinity, 'None')
  assert.equal(mended.metadata.annotations?.theirs, 'yes')
  assert.equal((await apply(owner, [wanted], unknown, never)).written, 0)
})

test('fields that others add to a Deployment are removed; their annotations and number of replicas stay', {
  skip,
}, async () => {
  const owner = await createOwner('foreign')
  const { apply } = applier()
  const wanted = deployment('mcp-foreign')
  await apply(owner, [wanted], unknown, never)
  const container = { name: 'server', env: [{ name: 'THEIRS', value: 'yes' }] }
  const annotations = { 'kubectl.kubernetes.io/restartedAt': 'today' }
  const sidecar = { name: 'sidecar', image: 'theirs' }
  const spec = { nodeSelector: { disk: 'ssd' }, containers: [container, sidecar] }
  const template = { metadata: { annotations }, spec }
  const change = { metadata: { annotations: { theirs: 'yes' } }, spec: { template } }
  await api.kubectl([
    ...['patch', '--namespace=team', 'deployment/mcp-foreign', '--type=strategic'],
    `--patch=${JSON.stringify(change)}`,
  ])
  await api.kubectl(['scale', '--namespace=team', 'deployment/mcp-foreign', '--replicas=3'])
  const { written, drift } = await apply(owner, [wanted], unknown, never)
  assert.equal(written, 1)
  assert.deepEqual(drift[0]?.managers, ['kubectl-patch'])
  assert.match(drift[0]?.fields.join() ?? '', /spec\.template\.spec\.nodeSelector/)
  const mended = await read<Kube<V1Deployment>>(wanted)
  const pod = mended.spec?.template
  assert.deepEqual(
    pod?.spec?.containers.map(({ name, env }) => [name, env?.map(({ name }) => name)]),
    [['server', ['EMPTY']]],
  )
  assert.equal(pod?.spec?.nodeSelector, undefined)
  assert.equal(mended.spec?.replicas, 3)
  assert.deepEqual(pod?.metadata?.annotations, annotations)
  assert.equal(mended.metadata.annotations?.theirs, 'yes')
  assert.deepEqual(await apply(owner, [wanted], unknown, never), { taken: [], written: 0, drift: [] })
})

test('a right that was added to a Role is removed, also after a restart', { skip }, async () => {
  const owner = await createOwner('rights')
  const rules = [{ apiGroups: [''], resources: ['configmaps'], resourceNames: ['a'], verbs: ['get'] }]
  const wanted = { ...named<Role>('rbac.authorization.k8s.io/v1', 'Role', 'mcp-rights'), rules }
  await applier().apply(owner, [wanted], unknown, never)
  const more = [...rules, { apiGroups: [''], resources: ['secrets'], verbs: ['*'] }]
  await api.kubectl(patch('role/mcp-rights', { rules: more }))
  assert.equal((await applier().apply(owner, [wanted], unknown, never)).written, 1)
  assert.deepEqual((await read<Role>(wanted)).rules, rules)
})

test('values that the API server stores in another form cause no further write', { skip }, async () => {
  const owner = await createOwner('spelling')
  const spec = { podSelector: {}, policyTypes: ['Ingress'], ingress: [] }
  const policy = named<Kube<V1NetworkPolicy>>('networking.k8s.io/v1', 'NetworkPolicy', 'mcp-spelling')
  const objects = [{ ...policy, spec }, deployment('mcp-spelling')]
  await applier().apply(owner, objects, unknown, never)
  const versions = () =>
    Promise.all(objects.map(async object => (await read(object)).metadata.resourceVersion))
  const before = await versions()
  const restarted = applier()
  await restarted.apply(owner, objects, unknown, never)
  assert.deepEqual(await versions(), before)
  assert.deepEqual(await restarted.apply(owner, objects, unknown, never), {
    taken: [],
    written: 0,
    drift: [],
  })
})

test('with a metadata-only cache, only objects that somebody else has changed are written', {
  skip,
}, async () => {
  const owner = await createOwner('metadata')
  const wanted = configMap('metadata-catalog-0', 'a')
  const first = applier()
  await first.apply(owner, [wanted], unknown, never)
  const seen = await metadataOf(wanted)
  assert.equal((await first.apply(owner, [wanted], () => seen, never)).written, 0)
  const restarted = applier()
  assert.equal((await restarted.apply(owner, [wanted], () => seen, never)).written, 0)
  await api.kubectl(patch('configmap/metadata-catalog-0', { data: { content: 'theirs' } }))
  const drifted = await metadataOf(wanted)
  assert.equal((await restarted.apply(owner, [wanted], () => drifted, never)).written, 1)
  assert.equal((await read<ConfigMap>(wanted)).data?.content, 'a')
})

test('if one object has another owner, neither this object nor any other is written', { skip }, async () => {
  const owner = await createOwner('robbed')
  const theirs = await api.client.create(inTeam(configMap('robbed-1', 'theirs')))
  const objects = [configMap('robbed-0', 'a'), configMap('robbed-1', 'b')]
  const { apply } = applier()
  for (const observed of [unknown, (ref: ObjectRef) => (ref.name === 'robbed-1' ? theirs : undefined)]) {
    const { taken, written } = await apply(owner, objects, observed, never)
    assert.deepEqual(
      [taken.map(({ kind, namespace, name }) => [kind, namespace, name]), written],
      [[['ConfigMap', 'team', 'robbed-1']], 0],
    )
  }
  assert.equal(await api.client.get(refOf(inTeam(objects[0] as KubeObject))), undefined)
  assert.equal((await read(theirs)).metadata.resourceVersion, theirs.metadata.resourceVersion)
})

test("applying fails with a retryable conflict while a deleted owner's object exists", { skip }, async () => {
  const former = await createOwner('reborn')
  const { apply } = applier()
  const wanted = configMap('reborn-catalog-0', 'a')
  await apply(former, [wanted], unknown, never)
  await api.client.delete(refOf(former))
  const owner = await createOwner('reborn')
  await assert.rejects(apply(owner, [wanted], unknown, never), { code: 'conflict', retryable: true })
  await api.client.delete(refOf(inTeam(wanted)))
  assert.equal((await apply(owner, [wanted], unknown, never)).written, 1)
})

test('an object that was replaced since it was seen is not overwritten', { skip }, async () => {
  const owner = await createOwner('replaced')
  const { apply } = applier()
  await apply(owner, [configMap('replaced-0', 'a')], unknown, never)
  const seen = await read(configMap('replaced-0', 'a'))
  await api.client.delete(refOf(seen))
  const theirs = await api.client.create(inTeam(configMap('replaced-0', 'theirs')))
  const changed = configMap('replaced-0', 'b')
  await assert.rejects(
    apply(owner, [changed], () => seen, never),
    { reason: 'Conflict', retryable: true },
  )
  assert.deepEqual((await read<ConfigMap>(theirs)).data, { content: 'theirs' })
})

test('applying stops at the first object that the API server refuses, with its message', {
  skip,
}, async () => {
  const owner = await createOwner('stops')
  const wrong = { ...configMap('stops-1', 'b'), data: { 'not a key': '' } }
  const objects = [configMap('stops-0', 'a'), wrong, configMap('stops-2', 'c')]
  const { written, refused } = await applier().apply(owner, objects, unknown, never)
  assert.deepEqual([written, /not a key/.test(refused ?? '')], [1, true])
  const { items } = await api.client.list({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'team' })
  const found = items.map(({ metadata }) => metadata.name).filter(name => name.startsWith('stops-'))
  assert.deepEqual(found, ['stops-0'])
})

test('unwanted objects are deleted unless they are of others or were replaced', { skip }, async () => {
  const owner = await createOwner('pruned')
  const { apply, prune } = applier()
  const objects = ['0', '1', '2', '3'].map(part => configMap(`pruned-${part}`, part))
  await apply(owner, objects, unknown, never)
  const owned = await Promise.all(objects.map(object => read(object)))
  const [kept, , , reborn] = owned as [KubeObject, KubeObject, KubeObject, KubeObject]
  await api.client.delete(refOf(reborn))
  const theirs = await api.client.create(inTeam(configMap('pruned-3', 'theirs')))
  assert.equal(await prune(owner, [refOf(kept)], [...owned, theirs], never), 2)
  const { items } = await api.client.list({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'team' })
  const found = items.map(({ metadata }) => metadata.name).filter(name => name.startsWith('pruned-'))
  assert.deepEqual(found, ['pruned-0', 'pruned-3'])
  assert.equal(await prune(owner, [refOf(kept)], owned, never), 0)
})

function applier() {
  return createApplier({ client: api.client, log, metrics: createOperatorMetrics(), fieldManager })
}

/** An McpServer as the API server has it. */
function createOwner(name: string): Promise<KubeObject> {
  const spec = { remote: { url: 'http://127.0.0.1/mcp' } }
  return api.client.create(
    inTeam({ ...named('portolan.dev/v1alpha1', 'McpServer', name), spec } as KubeObject),
  )
}

async function read<T extends KubeObject>(object: KubeObject | undefined): Promise<T> {
  assert.ok(object)
  const found = await api.client.get<T>(refOf(inTeam(object)))
  assert.ok(found, `no ${object.kind} ${object.metadata.name}`)
  return found
}

/** The object as a metadata-only cache has it. */
async function metadataOf(object: KubeObject): Promise<KubeObject> {
  const { apiVersion, kind, metadata } = await read(object)
  assert.ok(metadata.annotations?.[APPLIED_ANNOTATION])
  return { apiVersion, kind, metadata }
}

function named<T extends KubeObject>(apiVersion: string, kind: string, name: string): T {
  return { apiVersion, kind, metadata: { name } } as T
}

function configMap(name: string, content: string): ConfigMap {
  return { ...named<ConfigMap>('v1', 'ConfigMap', name), data: { content } }
}

function service(name: string): Service {
  const ports = [{ name: 'http', port: 80, targetPort: 'http' }]
  return {
    ...named<Service>('v1', 'Service', name),
    spec: { selector: { app: name }, sessionAffinity: 'None', ports },
  } as Service
}

/** With values that the API server stores in another form: quantities, a default that is written out, an empty value. */
function deployment(name: string): KubeObject {
  const labels = { app: name }
  const resources = { requests: { cpu: '1000m', memory: '1024Mi' } }
  const container = { name: 'server', image: 'none', env: [{ name: 'EMPTY', value: '' }], resources }
  const template = { metadata: { labels }, spec: { hostNetwork: false, containers: [container] } }
  const spec = { selector: { matchLabels: labels }, template }
  return { ...named<KubeObject>('apps/v1', 'Deployment', name), spec } as KubeObject
}

function inTeam<T extends KubeObject>(object: T): T {
  return { ...object, metadata: { ...object.metadata, namespace: 'team' } }
}

function patch(what: string, change: object): string[] {
  return ['patch', '--namespace=team', what, '--type=merge', `--patch=${JSON.stringify(change)}`]
}
