/** Files of users of a stdio server: kept while the user has no pod, deleted some time later, and never those of another. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { McpServerSpecInput } from '../../../crds/server.ts'
import { until } from '../../support/until.ts'
import { tokenOf } from '../../users/as-user.ts'
import { callerOf } from '../support/caller.ts'
import { gateway, secret, server } from '../support/manifests.ts'
import type { Stories } from '../support/story.ts'
import { provideVolumes } from '../support/volumes.ts'

const NAMES = ['ada', 'ben']
const MEMORY: McpServerSpecInput = {
  npm: { package: '@modelcontextprotocol/server-memory', version: '2026.8.31' },
  env: [{ name: 'MEMORY_FILE_PATH', value: '/home/mcp/memory.jsonl' }],
  sessions: 'perUser',
}
const SOMETHING = { entities: [{ name: 'Lisbon', entityType: 'city', observations: ['has trams'] }] }

export const userVolumeStories: Stories = (running, options) => {
  test('the files of a user outlive the pod, and no other user finds them', options, async t => {
    const portolan = running()
    await provideVolumes(portolan, 3, t)
    const space = await portolan.namespace('user-files', t)
    const keeping = (retainFor: string) =>
      server('memory', { ...MEMORY, users: { idleAfter: '2s', volume: { size: '1Gi', retainFor } } })
    await space.apply(
      secret('callers', Object.fromEntries(NAMES.map(name => [name, tokenOf(name)]))),
      keeping('48h'),
      gateway('tools', { router: { replicas: 1 }, auth: { tokens: { secretName: 'callers' } } }),
    )
    await space.untilServing('tools', { ready: 1 })
    const [ada, ben] = await Promise.all(
      NAMES.map(name => callerOf(portolan.cluster, space.name, 'tools', tokenOf(name))),
    )
    assert.ok(ada && ben)
    t.after(() => {
      for (const caller of [ada, ben]) caller.stop()
    })
    const none = async (prefix: string) => !(await space.made()).some(name => name.startsWith(prefix))
    const idle = () => until('no user has a pod', () => none('Deployment mcp-memory-u-'))

    await ada.call('memory:create_entities', SOMETHING)
    await idle()
    assert.match(await ada.call('memory:read_graph', {}), /has trams/)
    assert.doesNotMatch(await ben.call('memory:read_graph', {}), /Lisbon/)
    await idle()
    assert.equal(await none('PersistentVolumeClaim'), false)
    await space.apply(keeping('1s'))
    await until('their volumes are gone', () => none('PersistentVolumeClaim'))
    assert.doesNotMatch(await ada.call('memory:read_graph', {}), /Lisbon/)
    await space.delete(keeping('1s'))
    await until('nothing is left of them', () => none('PersistentVolumeClaim'))
  })
}
