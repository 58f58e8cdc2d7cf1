/** The admission policy of the chart on a real API server: which pods get a router, of what kind, and which are refused. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import type { V1Container, V1Pod, V1PodSpec } from '@kubernetes/client-node'
import { parse } from 'yaml'
import type { KubeObject } from '../../core/kube/object.ts'
import { API_VERSION } from '../../crds/object-meta.ts'
import { parseBytes } from '../../crds/quantity.ts'
import { routerSettings } from '../../router/config.ts'
import { type ApiServer, skipApiServer, startApiServer } from '../support/api-server.ts'
import { CHART, type Helm, helmAlone, objectsOf, type Values } from './helm.ts'
import { inForce } from './in-force.ts'

const skip = skipApiServer()
const EXAMPLES = join(dirname(dirname(import.meta.dirname)), 'examples', 'cluster', 'sidecar')
const GATEWAY = 'portolan.dev/gateway'

type Pod = {
  metadata: { labels?: Record<string, string>; annotations?: Record<string, string> }
  spec: V1PodSpec
}
/** This API server fills in no ServiceAccount, without which there is no token. */
function example(name: string): Pod {
  const pod = parse(readFileSync(join(EXAMPLES, `${name}.yaml`), 'utf8')) as Pod
  return { ...pod, spec: { ...pod.spec, serviceAccountName: 'default' } }
}

let server: ApiServer
let helm: Helm

before(async () => {
  if (skip) return
  server = await startApiServer()
  helm = helmAlone()
  await server.namespace('mcp', { 'pod-security.kubernetes.io/enforce': 'restricted' })
  await server.namespace('empty')
  await apply(await policies())
  for (const name of ['tools', 'other', 'taken']) await makeGateway(name, name === 'taken' ? 'False' : 'True')
  await inForce(async () => routerOf(await admitted(labelled('other'))))
  await inForce(() => assert.rejects(admitted(example('by-label'), 'empty')))
})
after(async () => {
  helm?.end()
  await server?.stop()
})

test('a pod with the label gets a router before everything else', { skip }, async t => {
  const { spec } = await admitted(example('by-label'))
  const added = { initContainers: spec.initContainers, volumes: spec.volumes }
  t.assert.fileSnapshot(added, join(dirname(import.meta.dirname), 'golden', 'chart', 'sidecar.json'))
  assert.deepEqual(spec.containers, (await admitted(without(example('by-label'), GATEWAY))).spec.containers)
})

test('the sidecar in examples/ equals the one that the label adds', { skip }, async () => {
  const byHand = await admitted(example('by-hand'))
  assert.deepEqual(byHand.spec, (await admitted(example('by-label'))).spec)
})

test('the sidecar of a gateway that runs scripts has additional memory for them', { skip }, async () => {
  const code = { enabled: true, limits: { scripts: 2, memory: '40Mi' } }
  await makeGateway('scripted', 'True', { code })
  const { resources } = await inForce(async () => routerOf(await admitted(labelled('scripted'))))
  const bytes = (mebibytes: number) => String(mebibytes * 1024 * 1024)
  assert.deepEqual([resources?.requests?.memory, resources?.limits?.memory].map(canonical), [
    bytes(160 + 2 * 2 * 64),
    bytes(512 + 2 * 2 * 64),
  ])
})

test('the sidecar in NOTES equals the one that the label adds', { skip }, async () => {
  const install = ['install', 'portolan', CHART, '--namespace=portolan', '--dry-run=client']
  const notes = await helm.run(install)
  const lines = /^ {3}spec:\n {5}initContainers:\n(?: {5}.*\n)+/m.exec(notes)?.[0] ?? ''
  const { spec } = parse(lines) as Pod
  const pod = example('by-label')
  const byHand = without({ ...pod, spec: { ...pod.spec, ...spec } }, GATEWAY)
  assert.deepEqual((await admitted(byHand)).spec, (await admitted(pod)).spec)
})

test('the environment of the sidecar is valid', { skip }, async () => {
  const env = {
    ...envOf(routerOf(await admitted(example('by-label')))),
    PORTOLAN_NAMESPACE: 'mcp',
    PORTOLAN_POD: 'agent',
  }
  const { settings } = await routerSettings({ env })
  const { gateway, host, port, adminPort, catalog } = settings ?? {}
  assert.deepEqual([gateway, host, port, adminPort], ['tools', '127.0.0.1', 8080, 8081])
  const tokenFile = '/var/run/portolan/token/token'
  assert.deepEqual(catalog, { url: 'http://tools-gateway-admin.mcp.svc:8081', tokenFile })
})

test('the sidecar uses the port of the annotation and the one after it', { skip }, async () => {
  const pod = example('by-label')
  pod.metadata.annotations = { 'portolan.dev/port': '9000' }
  const router = routerOf(await admitted(pod))
  assert.deepEqual([envOf(router).PORTOLAN_PORT, envOf(router).PORTOLAN_ADMIN_PORT], ['9000', '9001'])
  assert.deepEqual([router.startupProbe?.httpGet?.port, router.livenessProbe?.httpGet?.port], [9001, 9001])
})

test('the catalog is that of the gateway which the label names', { skip }, async () => {
  const router = routerOf(await admitted(labelled('other')))
  assert.equal(envOf(router).PORTOLAN_GATEWAY, 'other')
  assert.equal(envOf(router).PORTOLAN_CATALOG_URL, 'http://other-gateway-admin.mcp.svc:8081')
})

test('a pod keeps the init containers and volumes that it has', { skip }, async () => {
  const pod = example('by-label')
  const [agent] = pod.spec.containers
  assert.ok(agent)
  pod.spec.initContainers = [
    { ...agent, name: 'prepare', volumeMounts: [{ name: 'data', mountPath: '/data' }] },
  ]
  pod.spec.volumes = [{ name: 'data', emptyDir: {} }]
  const { spec } = await admitted(pod)
  assert.deepEqual(
    spec.initContainers?.map(({ name }) => name),
    ['portolan-router', 'prepare'],
  )
  assert.deepEqual(
    spec.volumes?.map(({ name }) => name),
    ['data', 'portolan-token'],
  )
})

test('a pod with a router gets no second one', { skip }, async () => {
  const pod = example('by-hand')
  const before = (await admitted(pod)).spec
  pod.metadata.labels = { [GATEWAY]: 'tools' }
  assert.deepEqual((await admitted(pod)).spec, before)
})

test('a pod without the label is not changed', { skip }, async () => {
  assert.equal((await admitted(without(example('by-label'), GATEWAY))).spec.initContainers, undefined)
})

test('a pod that names an unknown gateway is refused with a reason', { skip }, async () => {
  await assert.rejects(
    admitted(labelled('nobody')),
    /McpGateway 'nobody', and there is no such gateway in the namespace mcp/,
  )
  await assert.rejects(admitted(example('by-label'), 'empty'), /no such gateway in the namespace empty/)
})

test('a pod that names a gateway which is not accepted is refused', { skip }, async () => {
  await assert.rejects(admitted(labelled('taken')), /McpGateway 'taken'.*not Accepted/)
})

for (const port of ['', 'http', '0', '-1', '65535', '70000', '08080', '8080 ']) {
  test(`a pod with the port '${port}' is refused with a reason`, { skip }, async () => {
    const pod = example('by-label')
    pod.metadata.annotations = { 'portolan.dev/port': port }
    await assert.rejects(admitted(pod), /portolan.dev\/port must be a number from 1 to 65534/)
  })
}

test('after the chart was removed and installed again, with other values, new gateways are known', {
  skip,
}, async () => {
  await server.kubectl(['delete', '-f', '-'], listOf(await policies()))
  await inForce(async () => assert.equal((await admitted(labelled('tools'))).spec.initContainers, undefined))
  const resources = { requests: { cpu: 1 }, limits: { cpu: '2' } }
  const image = { registry: 'registry.example.com', tag: '2', pullPolicy: 'Always' }
  const imagePullSecrets = [{ name: 'spare' }, { name: 'mirror' }]
  await apply(await policies({ image, imagePullSecrets, sidecar: { resources } }))
  await makeGateway('later', 'True')
  const pod = labelled('later')
  pod.spec.imagePullSecrets = [{ name: 'own' }, { name: 'spare' }]
  const { router, spec } = await inForce(async () => {
    const answer = await admitted(pod)
    return { router: routerOf(answer), spec: answer.spec }
  })
  assert.equal(router.image, 'registry.example.com/portolan/portolan:2')
  assert.equal(router.imagePullPolicy, 'Always')
  assert.deepEqual(router.resources, {
    requests: { cpu: '1', memory: '160Mi' },
    limits: { cpu: '2', memory: '512Mi' },
  })
  assert.deepEqual(spec.imagePullSecrets, [{ name: 'own' }, { name: 'spare' }, { name: 'mirror' }])
  assert.deepEqual((await admitted(labelled('later'))).spec.imagePullSecrets, imagePullSecrets)
})

async function policies(values?: Values): Promise<KubeObject[]> {
  return objectsOf(await helm.render(values)).filter(({ kind }) => /AdmissionPolicy/.test(kind))
}

/** With the status that the operator gives it. */
async function makeGateway(name: string, accepted: 'True' | 'False', spec: object = {}): Promise<void> {
  const gateway = { apiVersion: API_VERSION, kind: 'McpGateway', metadata: { name, namespace: 'mcp' }, spec }
  const known = { reason: 'Test', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }
  const status = { conditions: [{ type: 'Accepted', status: accepted, ...known }] }
  await apply([gateway])
  await server.client.applyStatus({ ...gateway, status }, { fieldManager: 'test' })
}

/** The API server may write bytes in another unit. */
function canonical(quantity: string | undefined): string {
  return String(parseBytes(quantity ?? ''))
}

function apply(objects: object[]): Promise<string> {
  return server.kubectl(['apply', '--server-side', '-f', '-'], listOf(objects))
}

function listOf(objects: object[]): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects })
}

function labelled(gateway: string): Pod {
  const pod = example('by-label')
  return { ...pod, metadata: { ...pod.metadata, labels: { [GATEWAY]: gateway } } }
}

/** The pod as the API server would store it. */
async function admitted(pod: Pod, namespace = 'mcp'): Promise<Pod> {
  const object = {
    apiVersion: 'v1',
    kind: 'Pod',
    ...pod,
    metadata: { ...pod.metadata, name: 'agent', namespace },
  }
  const args = ['create', '--dry-run=server', '-f', '-', '-o', 'json']
  const { metadata, spec } = JSON.parse(await server.kubectl(args, JSON.stringify(object))) as V1Pod
  assert.ok(spec)
  return { metadata: { ...metadata }, spec }
}

function without(pod: Pod, label: string): Pod {
  const { [label]: _, ...labels } = pod.metadata.labels ?? {}
  return { ...pod, metadata: { ...pod.metadata, labels } }
}

function routerOf({ spec }: Pod): V1Container {
  const router = spec.initContainers?.find(({ name }) => name === 'portolan-router')
  assert.ok(router)
  return router
}

function envOf({ env = [] }: V1Container): Record<string, string | undefined> {
  return Object.fromEntries(env.map(({ name, value }) => [name, value]))
}
