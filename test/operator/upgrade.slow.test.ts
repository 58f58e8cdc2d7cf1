/** An upgrade of the operator replaces the pods of one server after the other, and stops at one that does not become ready. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { V1Deployment } from '@kubernetes/client-node'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import { createConnector } from '../../core/mcp/client/connector.ts'
import { apiServerOfTests, skipApiServer } from '../support/api-server.ts'
import { until } from '../support/until.ts'
import { startSdk1 } from '../upstreams/http/sdk1.ts'
import { conditionOf, createWorld, isReady, reasonOf, type World } from './world.ts'

const skip = skipApiServer()
const NAMES = ['a', 'b', 'c']
const npm = { package: 'web', version: '1.0.0' }

const api = apiServerOfTests(skip)

test('servers roll one after another; if one does not become ready, the upgrade stops and the others report it', {
  skip,
}, async t => {
  const world = await readyWorld(t, 'turns')
  await upgrade(world, 'portolan/portolan:next')
  const [first = ''] = await untilChanged(world, 1)
  const others = NAMES.filter(name => name !== first)
  for (const name of others) {
    const { status } = await world.until(name, server => reasonOf(server, 'Progressing') === 'UpdateQueued')
    assert.match(
      conditionOf(status, 'Progressing')?.message ?? '',
      new RegExp(`after those of turns/${first}`),
    )
    assert.equal(conditionOf(status, 'Ready')?.status, 'True')
  }
  await reportStuck(world, first)
  await world.quiet()
  assert.deepEqual(await changed(world), [first])

  await world.roll(`mcp-${first}`, 1)
  const two = await untilChanged(world, 2)
  await world.roll(`mcp-${two.find(name => name !== first)}`, 1)
  const three = await untilChanged(world, 3)
  await world.roll(`mcp-${three.find(name => !two.includes(name))}`, 1)
  for (const name of NAMES) await world.until(name, server => reasonOf(server, 'Progressing') === 'Complete')
})

test('a server with a changed manifest does not wait for its turn; after a restart of the operator, others still do', {
  skip,
}, async t => {
  const world = await readyWorld(t, 'apart')
  await upgrade(world, 'portolan/portolan:next')
  const [first = ''] = await untilChanged(world, 1)
  await reportStuck(world, first)
  const [second = '', third = ''] = NAMES.filter(name => name !== first)
  await world.server(second, { npm: { ...npm, version: '2.0.0' } })
  await untilChanged(world, 2)
  await upgrade(world, 'portolan/portolan:next')
  await world.quiet()
  assert.ok(!(await changed(world)).includes(third))
})

test('a server that waits for its turn gets its number of instances, and keeps its pod template', {
  skip,
}, async t => {
  const world = await readyWorld(t, 'scaled')
  await upgrade(world, 'portolan/portolan:next')
  const [first = ''] = await untilChanged(world, 1)
  const [waiting = '', third = ''] = NAMES.filter(name => name !== first)
  await world.until(waiting, server => reasonOf(server, 'Progressing') === 'UpdateQueued')
  const before = await deployment(world, waiting)
  const metadata = { name: `mcp-${waiting}`, namespace: world.namespace }
  const scaled = { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { replicas: 3 } }
  await world.client.apply(scaled as KubeObject, { fieldManager: 'someone', force: true })
  await until(async () => (await deployment(world, waiting))?.spec?.replicas === 1)
  await world.quiet()
  const after = await deployment(world, waiting)
  assert.deepEqual(after?.spec, before?.spec)
  await world.roll(`mcp-${first}`, 1)
  await until(`the turn of ${waiting}`, async () => {
    await world.roll(`mcp-${third}`, 1)
    return JSON.stringify((await deployment(world, waiting))?.spec?.template).includes('portolan:next')
  })
  assert.equal((await deployment(world, waiting))?.spec?.replicas, 1)
})

test('as many servers roll at a time as servers.upgrade says', { skip }, async t => {
  const world = await readyWorld(t, 'all')
  await upgrade(world, 'portolan/portolan:next', { share: 1, perNamespace: 3 })
  await untilChanged(world, 3)
})

/** Three servers that are ready. */
async function readyWorld(t: TestContext, namespace: string): Promise<World> {
  const upstream = await startSdk1('stateful')
  t.after(() => upstream.close())
  const server: typeof createConnector = options => {
    const connect = createConnector(options)
    return ({ endpoint, ...rest }) =>
      connect({ ...rest, endpoint: { ...endpoint, url: upstream.url } as typeof endpoint })
  }
  const world = await createWorld(t, api().access, namespace, { connectors: { server } })
  for (const name of NAMES) {
    await world.server(name, { npm })
    await until(`a Deployment of ${name}`, () => deployment(world, name))
    await world.roll(`mcp-${name}`, 1)
  }
  for (const name of NAMES) await world.until(name, isReady)
  return world
}

async function upgrade(world: World, image: string, waves = { share: 0.1, perNamespace: 1 }): Promise<void> {
  await world.operator().stop()
  await world.start({ settings: { image, waves } })
}

/** Writes the status of a Deployment whose new pod does not start while the old one serves. */
async function reportStuck(world: World, name: string): Promise<void> {
  const found = await deployment(world, name)
  const status = {
    observedGeneration: found?.metadata.generation,
    replicas: 2,
    updatedReplicas: 1,
    readyReplicas: 1,
    availableReplicas: 1,
  }
  const { apiVersion = '', kind = '' } = found ?? {}
  const metadata = { name: `mcp-${name}`, namespace: world.namespace }
  await world.client.applyStatus({ apiVersion, kind, metadata, status } as Kube<V1Deployment>, {
    fieldManager: 'test',
    force: true,
  })
}

/** Servers whose Deployment has changed since its creation. */
async function changed(world: World): Promise<string[]> {
  const found = await Promise.all(NAMES.map(name => deployment(world, name)))
  return NAMES.filter((_, at) => found[at]?.metadata.generation !== 1)
}

async function untilChanged(world: World, count: number): Promise<string[]> {
  const names = await until(`${count} changed Deployments`, async () => {
    const names = await changed(world)
    return names.length >= count && names
  })
  assert.equal(names.length, count)
  return names
}

function deployment(world: World, name: string): Promise<Kube<V1Deployment> | undefined> {
  return world.get('apps/v1', 'Deployment', `mcp-${name}`)
}
