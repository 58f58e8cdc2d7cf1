/** The client, list-watch and the lease against a real, healthy API server. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { V1ConfigMap, V1CustomResourceDefinition } from '@kubernetes/client-node'
import { parse } from 'yaml'
import { skipCluster } from '../../test/cluster/available.ts'
import { type Cluster, useCluster } from '../../test/cluster/cluster.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { until } from '../../test/support/until.ts'
import { createLog } from '../log.ts'
import { type Access, inClusterAccess } from './access.ts'
import { KubeClient } from './client.ts'
import { kubeconfigAccess } from './kubeconfig.ts'
import { LEASE_REQUEST_TIMEOUT_MS, leadWhileHolding } from './lease.ts'
import { ListWatch } from './list-watch.ts'
import { type Kube, type KubeObject, refOf } from './object.ts'

const skip = skipCluster()
const START_LIMIT_MS = 280_000
const OBJECTS = 1_000
const manager = { fieldManager: 'test' }
const log = createLog({ level: 'silent' })
const namespace = `kube-test-${process.pid}`

type ConfigMap = Kube<V1ConfigMap>
type McpServer = KubeObject & { spec: object; status?: { protocol?: string } }

let cluster: Cluster
let access: Access
let client: KubeClient

before(
  async () => {
    if (skip) return
    cluster = await useCluster()
    access = kubeconfigAccess({ file: cluster.kubeconfig })
    client = new KubeClient(access)
    await client.apply(named('v1', 'Namespace', namespace), manager)
  },
  { timeout: START_LIMIT_MS },
)
after(async () => {
  if (skip) return
  await client?.delete({ apiVersion: 'v1', kind: 'Namespace', name: namespace })
  await client?.close()
  await cluster?.stop()
})

test('applying an unchanged object writes nothing; applying a changed one does', { skip }, async () => {
  const first = await client.apply(configMap('applied', { a: '1' }), manager)
  const second = await client.apply(configMap('applied', { a: '1' }), manager)
  assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion)
  const third = await client.apply(configMap('applied', { b: '2' }), manager)
  assert.notEqual(third.metadata.resourceVersion, first.metadata.resourceVersion)
  assert.deepEqual((await client.get<ConfigMap>(refOf(first)))?.data, { b: '2' })
})

test('a field that another manager owns is a conflict, unless the apply is forced', { skip }, async () => {
  await client.apply(configMap('owned', { a: 'theirs' }), { fieldManager: 'other' })
  const ours = configMap('owned', { a: 'ours' })
  await assert.rejects(client.apply(ours, manager), { status: 409, reason: 'Conflict', retryable: true })
  assert.deepEqual((await client.apply(ours, { ...manager, force: true })).data, { a: 'ours' })
})

test('status is applied separately from spec, on our own kinds', { skip }, async t => {
  if (!cluster.own) return t.skip('the CRDs of an existing cluster are not changed')
  const crd = parse(readFileSync(new URL('../../crds/portolan.dev_mcpservers.yaml', import.meta.url), 'utf8'))
  await client.apply<Kube<V1CustomResourceDefinition>>(crd, manager)
  await cluster.run(['kubectl', 'wait', '--for=condition=Established', 'crd/mcpservers.portolan.dev'])
  const server: McpServer = {
    ...named('portolan.dev/v1alpha1', 'McpServer', 'demo'),
    spec: { remote: { url: 'http://127.0.0.1/mcp' } },
  }
  // The API server serves a kind shortly after it is established.
  const made = await until(() => client.apply(server, manager))
  const status = { protocol: '2025-11-25' }
  const written = await client.applyStatus({ ...server, spec: {}, status }, manager)
  assert.equal(written.status?.protocol, status.protocol)
  assert.deepEqual(written.spec, made.spec)
  const again = await client.applyStatus({ ...server, status }, manager)
  assert.equal(again.metadata.resourceVersion, written.metadata.resourceVersion)
})

test('create fails if the object exists; replace and delete fail if it has changed', {
  skip,
}, async () => {
  const made = await client.create(configMap('once', { a: '1' }))
  await assert.rejects(client.create(configMap('once', {})), { reason: 'AlreadyExists', retryable: false })
  const replaced = await client.replace({ ...made, data: { a: '2' } })
  await assert.rejects(client.replace({ ...made, data: { a: '3' } }), { reason: 'Conflict' })
  await assert.rejects(client.delete(refOf(made), { uid: 'another' }), { reason: 'Conflict' })
  const { uid, resourceVersion } = replaced.metadata
  assert.equal(await client.delete(refOf(made), { uid, resourceVersion }), true)
  assert.equal(await client.delete(refOf(made)), false)
  assert.equal(await client.get(refOf(made)), undefined)
})

test('an invalid object is rejected with the reason Invalid', { skip }, async () => {
  const wrong = { ...configMap('wrong', {}), data: { 'not a key': '' } }
  await assert.rejects(client.apply(wrong, manager), { status: 422, reason: 'Invalid', code: 'bad_request' })
})

test('a request is cancelled by its signal', { skip }, async () => {
  const controller = new AbortController()
  const request = client.list({ apiVersion: 'v1', kind: 'Pod' }, controller.signal)
  controller.abort()
  await assert.rejects(request, { code: 'cancelled' })
})

test('a thousand objects are listed in pages and watched', { skip }, async () => {
  const query = { apiVersion: 'v1', kind: 'ConfigMap', namespace, labelSelector: 'many=yes' }
  const stopping = new AbortController()
  const watch = new ListWatch<ConfigMap>({ client, query, log })
  const full = Promise.withResolvers<void>()
  watch.onChange(() => watch.objects.size === OBJECTS && full.resolve())
  const running = watch.run(stopping.signal)
  await watch.synced
  assert.equal(watch.objects.size, 0)
  const one = (index: number) => {
    const object = configMap(`many-${index}`, { index: String(index) })
    return client.create({ ...object, metadata: { ...object.metadata, labels: { many: 'yes' } } })
  }
  await Promise.all(Array.from({ length: OBJECTS }, (_, index) => one(index)))
  await full.promise
  const { items } = await client.list<ConfigMap>(query)
  assert.equal(items.length, OBJECTS)
  for (const item of items) assert.deepEqual(watch.get(`${namespace}/${item.metadata.name}`), item)
  stopping.abort()
  await running
})

test('a token that was replaced in its file is used as soon as the server rejects the old one', {
  skip,
}, async t => {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-kube-'))
  t.after(() => rmSync(folder, { recursive: true }))
  await client.apply(named('v1', 'ServiceAccount', 'reader'), manager)
  await client.apply({ ...named('v1', 'Secret', 'session') }, manager)
  await grantReading('reader')
  const bound = ['--bound-object-kind=Secret', '--bound-object-name=session']
  const token = async (...more: string[]) =>
    (await cluster.run(['kubectl', 'create', 'token', 'reader', `--namespace=${namespace}`, ...more])).trim()
  writeFileSync(join(folder, 'namespace'), namespace)
  writeFileSync(join(folder, 'ca.crt'), String((await access.credentials()).tls.ca))
  writeFileSync(join(folder, 'token'), await token(...bound))
  const { hostname, port } = new URL(access.server)
  const pod = new KubeClient(await inClusterAccess(hostname, port, folder))
  t.after(() => pod.close())
  const read = () => pod.get({ apiVersion: 'v1', kind: 'ConfigMap', namespace, name: 'applied' })
  assert.ok(await read())
  // A token expires with the object that it is bound to; the server caches it for up to ten seconds.
  await client.delete({ apiVersion: 'v1', kind: 'Secret', namespace, name: 'session' })
  await until(() =>
    read().then(
      () => false,
      error => error.status === 401,
    ),
  )
  await assert.rejects(read(), { reason: 'Unauthorized' })
  writeFileSync(join(folder, 'token'), await token())
  assert.ok(await read())
})

test('the next candidate takes the lease after its holder is killed, or stops gracefully', {
  skip,
}, async t => {
  const clock = createManualClock()
  const holder = spawnHolder()
  t.after(() => holder.kill('SIGKILL'))
  await once(holder.stdout, 'data')
  const [stop, leading] = [new AbortController(), Promise.withResolvers<AbortSignal>()]
  const work = (signal: AbortSignal) => {
    leading.resolve(signal)
    return once(signal, 'abort').then(() => {})
  }
  const next = leadWhileHolding({ ...leaseOptions('next'), clock }, work, stop.signal)
  await until(() => clock.pending() > 0)
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  clock.advance(14_000)
  await until(() => clock.pending() > 0) // The candidate has read the lease again.
  assert.equal((await lease())?.spec.holderIdentity, 'first')
  await until(() => {
    clock.advance(1_000)
    return Promise.race([leading.promise.then(() => true), sleep(20).then(() => false)])
  })
  assert.deepEqual(pick(await lease()), { holderIdentity: 'next', leaseTransitions: 1 })
  stop.abort()
  await next
  const third = new AbortController()
  await leadWhileHolding(leaseOptions('third'), async () => third.abort(), third.signal)
  assert.deepEqual(pick(await lease()), { holderIdentity: '', leaseTransitions: 2 })
})

test('a holder whose lease was taken over stops at its next renewal', { skip }, async () => {
  const clock = createManualClock()
  const leading = Promise.withResolvers<AbortSignal>()
  const work = (signal: AbortSignal) => {
    leading.resolve(signal)
    return new Promise<void>(() => {})
  }
  const run = leadWhileHolding({ ...leaseOptions('robbed'), clock }, work, new AbortController().signal)
  const signal = await leading.promise
  const held = await lease()
  await client.replace({ ...held, spec: { ...held.spec, holderIdentity: 'thief' } } as LeaseObject)
  await until(() => clock.pending() > 0)
  clock.advance(2_400)
  await assert.rejects(run, { reason: 'LeaseLost', message: 'thief holds the lease now' })
  assert.equal(signal.aborted, true)
})

type LeaseObject = KubeObject & { spec: { holderIdentity?: string; leaseTransitions?: number } }

async function lease(): Promise<LeaseObject> {
  const ref = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', namespace, name: 'leader' }
  const found = await client.get<LeaseObject>(ref)
  assert.ok(found)
  return found
}

function pick({ spec: { holderIdentity, leaseTransitions } }: LeaseObject) {
  return { holderIdentity, leaseTransitions }
}

function leaseOptions(identity: string) {
  return { client, namespace, name: 'leader', identity, log }
}

/** Another process that leads until it is killed. It prints `leading` once it does. */
function spawnHolder() {
  const from = (file: string) => JSON.stringify(new URL(file, import.meta.url).href)
  const code = `
    import { KubeClient } from ${from('./client.ts')}
    import { kubeconfigAccess } from ${from('./kubeconfig.ts')}
    import { leadWhileHolding } from ${from('./lease.ts')}
    import { createLog } from ${from('../log.ts')}
    const [file, namespace] = process.argv.slice(1)
    const client = new KubeClient(kubeconfigAccess({ file }), { timeoutMs: ${LEASE_REQUEST_TIMEOUT_MS} })
    const lead = () => new Promise(() => { process.stdout.write('leading'); setInterval(() => {}, 1000) })
    await leadWhileHolding({ client, namespace, name: 'leader', identity: 'first', log: createLog() }, lead, new AbortController().signal)`
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', code]
  return spawn(process.execPath, [...args, cluster.kubeconfig, namespace], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

async function grantReading(account: string): Promise<void> {
  const group = 'rbac.authorization.k8s.io'
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }]
  await client.apply({ ...named(`${group}/v1`, 'Role', account), rules }, manager)
  const roleRef = { apiGroup: group, kind: 'Role', name: account }
  const subjects = [{ kind: 'ServiceAccount', name: account, namespace }]
  await client.apply({ ...named(`${group}/v1`, 'RoleBinding', account), roleRef, subjects }, manager)
}

function named(apiVersion: string, kind: string, name: string): KubeObject {
  return { apiVersion, kind, metadata: kind === 'Namespace' ? { name } : { name, namespace } }
}

function configMap(name: string, data: Record<string, string>): ConfigMap {
  return { ...named('v1', 'ConfigMap', name), data }
}

const sleep = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
