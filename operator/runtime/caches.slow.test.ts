/** What the operator knows of a real API server's objects, and how it learns of changes. */
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import type { V1ConfigMap } from '@kubernetes/client-node'
import { systemClock } from '../../core/async.ts'
import { KubeClient } from '../../core/kube/client.ts'
import { type Kube, type KubeObject, refOf } from '../../core/kube/object.ts'
import { createLog } from '../../core/log.ts'
import { type ApiServer, skipApiServer, startApiServer } from '../../test/support/api-server.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { until } from '../../test/support/until.ts'
import type { Namespaces } from './cache.ts'
import { type Caches, createCaches, type Owner } from './caches.ts'
import { ownedBy } from './owner-reference.ts'

const skip = skipApiServer()
const START_LIMIT_MS = 120_000
const log = createLog({ level: 'silent' })
const manager = { fieldManager: 'test' }
const never = new AbortController().signal

let api: ApiServer

before(
  async () => {
    if (skip) return
    api = await startApiServer()
    await Promise.all(['one', 'two', 'three'].map(name => api.namespace(name)))
  },
  { timeout: START_LIMIT_MS },
)
after(() => api?.stop())

test('of ConfigMaps only the metadata is kept, with their kind, also after changes', {
  skip,
}, async t => {
  await api.kubectl(['apply', '-f', '-'], JSON.stringify(configMap('seen', { secret: 'content' })))
  const { caches, until } = await start(t)
  const first = caches.configMaps.get('one/seen')
  assert.deepEqual(Object.keys(first ?? {}).sort(), ['apiVersion', 'kind', 'metadata'])
  assert.deepEqual([first?.apiVersion, first?.kind], ['v1', 'ConfigMap'])
  const changed = await api.client.apply(configMap('seen', { secret: 'other' }), { ...manager, force: true })
  await until(
    () => caches.configMaps.get('one/seen')?.metadata.resourceVersion === changed.metadata.resourceVersion,
  )
  const now = caches.configMaps.get('one/seen')
  assert.deepEqual([now?.apiVersion, now?.kind], ['v1', 'ConfigMap'])
  for (const kept of [first, now]) assert.doesNotMatch(JSON.stringify(kept), /content|other|managedFields/)
})

test('only objects in watched namespaces are seen, and those of all watches are in one cache', {
  skip,
}, async t => {
  const { caches, until } = await start(t, ['one', 'two'])
  await Promise.all(
    ['one', 'two', 'three'].map(namespace => api.client.apply(server('here', namespace), manager)),
  )
  await until(() => caches.servers.objects.size === 2)
  assert.deepEqual([...caches.servers.objects.keys()].sort(), ['one/here', 'two/here'])
  assert.equal(caches.servers.get('two/here')?.metadata.namespace, 'two')
  await api.client.delete(refOf(server('here', 'one')))
  await until(() => caches.servers.objects.size === 1)
  assert.equal(caches.servers.get('one/here'), undefined)
})

test('the objects of a server are found by its uid and its pods by their labels, and every change is reported', {
  skip,
}, async t => {
  const { caches, until, ownersSeen } = await start(t)
  const owner = await api.client.apply(server('owner'), manager)
  const { uid = '' } = owner.metadata
  const made = await api.client.apply(ownedBy(managed(configMap('owner-catalog-0', {})), owner), manager)
  await api.client.apply(pod('mcp-owner-1', 'owner'), manager)
  await until(() => caches.ownedBy(uid).length === 1 && caches.podsOf('one', 'server', 'owner').length === 1)
  assert.equal(caches.ownedBy(uid)[0]?.metadata.name, 'owner-catalog-0')
  assert.deepEqual(caches.find(refOf(made)), caches.configMaps.get('one/owner-catalog-0'))
  assert.deepEqual(ownersSeen(), ['McpServer one/owner', 'McpServer one/owner'])
  await api.client.delete(refOf(made))
  await api.client.delete(refOf(pod('mcp-owner-1', 'owner')))
  await until(() => caches.ownedBy(uid).length === 0 && caches.podsOf('one', 'server', 'owner').length === 0)
  assert.ok(ownersSeen().length >= 4)
})

test('a changed owner is reported to the old and the new owner', { skip }, async t => {
  const { caches, until, ownersSeen } = await start(t)
  const [first, second] = await Promise.all([
    api.client.apply(server('first'), manager),
    api.client.apply(server('second'), manager),
  ])
  const object = managed(configMap('handed', {}))
  await api.client.apply(ownedBy(object, first), manager)
  await until(() => caches.ownedBy(first.metadata.uid ?? '').length === 1)
  await api.client.apply(ownedBy(object, second), manager)
  await until(() => caches.ownedBy(second.metadata.uid ?? '').length === 1)
  assert.equal(caches.ownedBy(first.metadata.uid ?? '').length, 0)
  assert.deepEqual(ownersSeen().sort(), [
    'McpServer one/first',
    'McpServer one/first',
    'McpServer one/second',
  ])
})

test('a resync reports every server again, although nothing changed', { skip }, async t => {
  await api.client.apply(server('again'), manager)
  const clock = createManualClock()
  const caches = createCaches({ client: api.client, namespaces: ['one'], log, clock, resyncMs: 600_000 })
  await run(t, caches)
  const again: string[] = []
  caches.servers.onChange((before, now) => {
    if (before === now && now) again.push(now.metadata.name)
  })
  clock.advance(750_000)
  assert.ok(again.includes('again'))
})

test('after a restart of the API server the caches catch up', { skip }, async t => {
  const { caches, until } = await start(t)
  await api.kill()
  assert.deepEqual(caches.unsynced, [])
  await api.restart()
  await api.client.apply(server('later'), manager)
  await api.client.apply(configMap('later', {}), manager)
  await until(() => Boolean(caches.servers.get('one/later') && caches.configMaps.get('one/later')))
})

test('a namespace without rights for the operator holds up no other, and is listed once it has them', {
  skip,
}, async t => {
  const allow = async (namespace: string) => {
    const rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['list', 'watch'] }]
    const subjects = [{ kind: 'ServiceAccount', namespace: 'one', name: 'reader' }]
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' }
    const object = { apiVersion: `${roleRef.apiGroup}/v1`, metadata: { name: 'reader', namespace } }
    const [role, binding] = [
      { ...object, kind: 'Role', rules },
      { ...object, kind: 'RoleBinding', roleRef, subjects },
    ]
    await Promise.all([api.client.apply(role, manager), api.client.apply(binding, manager)])
  }
  await api.kubectl(['create', 'serviceaccount', 'reader', '-n', 'one'])
  await allow('one')
  const token = (await api.kubectl(['create', 'token', 'reader', '-n', 'one'])).trim()
  const { tls } = await api.access.credentials()
  const credentials = async () => ({
    headers: { authorization: `Bearer ${token}` },
    tls: tls.ca ? { ca: tls.ca } : {},
  })
  const client = new KubeClient({ ...api.access, credentials })
  t.after(() => client.close())
  const clock = createManualClock()
  const caches = createCaches({ client, namespaces: ['one', 'gone'], log, clock, resyncMs: 600_000 })
  const stop = new AbortController()
  const running = caches.run(stop.signal)
  t.after(() => {
    stop.abort()
    return running
  })
  let isSynced = false
  const synced = caches.synced(stop.signal).then(() => {
    isSynced = true
  })
  await until(() => {
    clock.advance(1_000)
    return isSynced
  })
  await synced
  assert.deepEqual([caches.unsynced, caches.isListed('one'), caches.isListed('gone')], [[], true, false])
  await api.namespace('gone')
  await allow('gone')
  await api.client.apply(server('back', 'gone'), manager)
  await until(() => {
    clock.advance(1_000)
    return caches.isListed('gone')
  })
  assert.ok(caches.servers.get('gone/back'))
})

async function start(t: TestContext, namespaces: Namespaces = 'all') {
  const caches = createCaches({ client: api.client, namespaces, log, clock: systemClock, resyncMs: 600_000 })
  return run(t, caches)
}

async function run(t: TestContext, caches: Caches) {
  const owners: Owner[] = []
  const stop = new AbortController()
  const waiting = new Set<() => void>()
  caches.onOwnedChange(owner => void owners.push(owner))
  for (const cache of [caches.servers, caches.configMaps, caches.pods]) {
    cache.onChange(() => {
      for (const look of waiting) look()
    })
  }
  const running = caches.run(stop.signal)
  t.after(() => {
    stop.abort()
    return running
  })
  await caches.synced(never)
  owners.length = 0
  return {
    caches,
    ownersSeen: () => owners.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`),
    /** Looks again at every change, once all listeners have heard of it. */
    until: (holds: () => boolean) =>
      new Promise<void>(resolve => {
        const look = () => setImmediate(() => holds() && resolve())
        waiting.add(look)
        look()
      }),
  }
}

function server(name: string, namespace = 'one'): KubeObject {
  const spec = { remote: { url: 'http://127.0.0.1/mcp' } }
  const object = {
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpServer',
    metadata: { name, namespace },
    spec,
  }
  return object
}

function configMap(name: string, data: Record<string, string>): Kube<V1ConfigMap> {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'one' }, data }
}

function managed<T extends KubeObject>(object: T): T {
  const labels = { 'app.kubernetes.io/managed-by': 'portolan' }
  return { ...object, metadata: { ...object.metadata, labels } }
}

function pod(name: string, instance: string): KubeObject {
  const labels = {
    'app.kubernetes.io/managed-by': 'portolan',
    'app.kubernetes.io/component': 'server',
    'app.kubernetes.io/instance': instance,
  }
  const spec = { containers: [{ name: 'server', image: 'none' }] }
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'one', labels }, spec } as KubeObject
}
