/** What the cluster does not let be made, by its rules or because somebody else's stands there: told, and made once it can be. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { V1Secret } from '@kubernetes/client-node'
import type { Kube } from '../../core/kube/object.ts'
import { type ApiServer, skipApiServer, startApiServer } from '../support/api-server.ts'
import { answer, startRude } from '../upstreams/http/rude.ts'
import { conditionOf, createWorld, isReady, reasonOf } from './world.ts'

const skip = skipApiServer()

let api: ApiServer

before(
  async () => {
    if (!skip) api = await startApiServer()
  },
  { timeout: 120_000 },
)
after(() => api?.stop())

test('what a rule of the cluster does not let in is told, and made once it may be', { skip }, async t => {
  const rude = await startRude({ 'tools/list': answer({ tools: [] }) })
  t.after(() => rude.close())
  const world = await createWorld(t, api.access, 'quota')
  for (const kind of ['configmaps', 'services']) {
    const metadata = { name: kind, namespace: 'quota' }
    const hard = { [kind]: '0' }
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata, spec: { hard } }
    await api.kubectl(['apply', '-f', '-'], JSON.stringify(quota))
    // as the controller that counts would, which does not run here
    const status = JSON.stringify({ status: { hard, used: hard } })
    const patch = ['patch', 'resourcequota', kind, '-n', 'quota', '--subresource=status', '--type=merge']
    await api.kubectl([...patch, '-p', status])
  }
  await world.server('packaged', { npm: { package: 'web', version: '1.0.0' } })
  await world.server('rude', { remote: { url: rude.url } })
  await world.gateway('all')
  const denied = await world.until('packaged', server => reasonOf(server, 'Ready') === 'PodRejected')
  assert.match(
    conditionOf(denied.status, 'Ready')?.message ?? '',
    /services "mcp-packaged" is forbidden: .*quota/,
  )
  assert.equal(reasonOf(denied, 'Accepted'), 'Accepted')
  const torn = await world.until('rude', server => reasonOf(server, 'Ready') === 'DiscoveryFailed')
  assert.match(conditionOf(torn.status, 'Ready')?.message ?? '', /quota/)
  await world.untilGateway('all', gateway => reasonOf(gateway, 'Ready') === 'PodRejected')

  await api.kubectl(['delete', 'resourcequota', '--all', '-n', 'quota'])
  world.clock.advance(60_000)
  await untilThere(() => world.get('apps/v1', 'Deployment', 'mcp-packaged'))
  await world.until('rude', isReady)
  await untilThere(() => world.get('apps/v1', 'Deployment', 'all-gateway'))
})

test('what stands under a name of ours and is not ours is never touched', { skip }, async t => {
  const world = await createWorld(t, api.access, 'taken')
  const theirs = await world.apply(theirSecret('mcp-web'))
  await world.server('web', { npm: { package: 'web', version: '1.0.0' } })
  const refused = await world.until('web', server => reasonOf(server, 'Accepted') === 'NameTaken')
  assert.equal(reasonOf(refused, 'Ready'), 'NotAccepted')
  const still = await world.get('v1', 'Secret', 'mcp-web')
  assert.equal(still?.metadata.resourceVersion, theirs.metadata.resourceVersion)
  assert.equal(await world.get('apps/v1', 'Deployment', 'mcp-web'), undefined)
  await world.delete('Secret', 'mcp-web')
  world.clock.advance(60_000)
  await untilThere(() => world.get('apps/v1', 'Deployment', 'mcp-web'))
})

function theirSecret(name: string): Kube<V1Secret> {
  const data = { whose: Buffer.from('theirs').toString('base64') }
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, data }
}

async function untilThere<T>(find: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await find()
    if (found) return found
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
