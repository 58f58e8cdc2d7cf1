/** Servers that sleep, as in docs/sleep.md and its examples: what their volumes keep, and a call from a sidecar. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { McpServerSpecInput } from '../../../crds/server.ts'
import { until } from '../../support/until.ts'
import { manifestFiles } from '../support/example-files.ts'
import { fixture, gateway, server } from '../support/manifests.ts'
import type { Namespace } from '../support/namespace.ts'
import type { Portolan } from '../support/portolan.ts'
import type { Stories } from '../support/story.ts'
import { provideVolumes } from '../support/volumes.ts'

const SLEEPY = { min: 0, idleAfter: '2s' }
const NPM = { package: '@modelcontextprotocol/server-everything', args: ['stdio'] }

export const sleepStories: Stories = (running, options) => {
  test(
    'the servers of examples/sleep sleep and are woken; with storage nothing is installed again',
    options,
    async t => {
      const portolan = running()
      await provideVolumes(portolan, 1, t)
      const space = await portolan.namespace('sleepy', t)
      for (const file of manifestFiles('sleep')) await space.applyFile(file)
      await space.apply(gateway('tools', { router: { replicas: 1 } }))
      await space.untilReady('thinking', 'everything')
      await space.untilServing('tools', { ready: 2 })
      assert.match(await installed(portolan, space, 'everything'), /^installed @modelcontextprotocol/m)
      const agent = await space.agent('tools')
      // The examples sleep after a quarter of an hour, for which no test waits.
      for (const name of ['thinking', 'everything']) await idleSoon(portolan, space, name)
      await asleep(space, 'thinking', 'everything')
      assert.match(await agent.call('everything:get-sum', { a: 19, b: 23 }), /42/)
      assert.match(
        await installed(portolan, space, 'everything'),
        /^already installed: @modelcontextprotocol/m,
      )
      const thought = { thought: 'first', thoughtNumber: 1, totalThoughts: 1, nextThoughtNeeded: false }
      assert.match(await agent.call('thinking:sequentialthinking', thought), /thoughtNumber/)
      assert.match(await installed(portolan, space, 'thinking'), /^installed @modelcontextprotocol/m)
    },
  )

  test(
    'another version is installed into a new volume, and the former claim is deleted',
    options,
    async t => {
      const portolan = running()
      await provideVolumes(portolan, 2, t)
      const space = await portolan.namespace('volumes', t)
      const claims = async () => (await space.made()).filter(name => name.startsWith('PersistentVolumeClaim'))
      const kept = (version: string, env: McpServerSpecInput['env'] = []) =>
        server('kit', { npm: { ...NPM, version }, env, storage: { size: '1Gi' } })
      await space.apply(kept('2026.8.18'))
      await space.untilReady('kit')
      const before = await claims()
      // New pods of the same package, as an upgrade of Portolan makes them, install nothing.
      await space.apply(kept('2026.8.18', [{ name: 'REVISION', value: '2' }]))
      await space.untilReady('kit')
      assert.match(await installed(portolan, space, 'kit'), /^already installed: @modelcontextprotocol/m)
      assert.deepEqual(await claims(), before)
      await space.apply(kept('2026.8.31'))
      await space.untilReady('kit')
      await until('the former claim is gone', async () => (await claims()).length === 1)
      assert.notDeepEqual(await claims(), before)
      await space.delete(server('kit', {}))
      await until('no claim is left', async () => (await claims()).length === 0)
    },
  )

  test(
    'the status says if nobody provides a volume, or if several pods would share one',
    options,
    async t => {
      const space = await running().namespace('no-volumes', t)
      const npm = { ...NPM, version: '2026.8.31' }
      const storage = { size: '1Gi', storageClassName: 'absent' }
      await space.apply(
        server('waits', { npm, storage }),
        server('shared', { npm, storage, scaling: { max: 2 } }),
      )
      await space.untilSaid('shared', 'Accepted', 'StorageSharedByPods')
      const { message } = await space.untilSaid('waits', 'Ready', 'StoragePending')
      assert.match(message, /see the events of its PersistentVolumeClaims: /)
    },
  )

  test('a call through the sidecar of an agent wakes a server that sleeps', options, async t => {
    const space = await running().namespace('sleepy-sidecar', t)
    await space.apply(
      server('kit', { ...fixture(), scaling: SLEEPY }),
      gateway('tools', { router: { replicas: 1 } }),
    )
    await space.untilServing('tools', { ready: 1 })
    const labels = { 'portolan.dev/gateway': 'tools' }
    const agent = await space.agent('tools', { labels, url: 'http://localhost:8080/mcp' })
    await asleep(space, 'kit')
    assert.equal((await agent.find('echo'))[0], 'kit:echo')
    assert.equal(await agent.call('kit:echo', { text: 'through localhost' }), 'through localhost')
    assert.equal((await space.pods('kit')).length, 1)
  })
}

/** What the installer of a server's only pod has printed. */
async function installed({ kubectl }: Portolan, space: Namespace, name: string): Promise<string> {
  const pods = await until('one pod runs', async () => {
    const found = (await space.pods(name)).filter(({ metadata }) => !metadata.deletionTimestamp)
    return found.length === 1 && found
  })
  const pod = pods[0]?.metadata.name ?? ''
  return kubectl('--namespace', space.name, 'logs', pod, '--container', 'install')
}

async function idleSoon({ kubectl }: Portolan, space: Namespace, name: string): Promise<void> {
  const patch = JSON.stringify({ spec: { scaling: { idleAfter: SLEEPY.idleAfter } } })
  await kubectl('--namespace', space.name, 'patch', 'mcpserver', name, '--type=merge', `--patch=${patch}`)
}

async function asleep(space: Namespace, ...names: string[]): Promise<void> {
  for (const name of names) await space.untilSaid(name, 'Ready', 'Asleep')
  for (const name of names)
    await until(`no pod of ${name} is left`, async () => (await space.pods(name)).length === 0)
}
