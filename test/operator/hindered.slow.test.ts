/** Objects that the cluster refuses, or whose name is taken: reported, and created once that is possible. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Secret } from '@kubernetes/client-node'
import type { Kube } from '../../core/kube/object.ts'
import { apiServerOfTests, skipApiServer } from '../support/api-server.ts'
import { until } from '../support/until.ts'
import { answer, startRude } from '../upstreams/http/rude.ts'
import { conditionOf, createWorld, isReady, reasonOf } from './world.ts'

const skip = skipApiServer()

const api = apiServerOfTests(skip)

test('objects that a rule of the cluster refuses are reported, and created once they are allowed', {
  skip,
}, async t => {
  const rude = await startRude({ 'tools/list': answer({ tools: [] }) })
  t.after(() => rude.close())
  const world = await createWorld(t, api().access, 'quota')
  for (const kind of ['configmaps', 'services']) {
    const metadata = { name: kind, namespace: 'quota' }
    const hard = { [kind]: '0' }
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata, spec: { hard } }
    await api().kubectl(['apply', '-f', '-'], JSON.stringify(quota))
    // As the quota controller would, which does not run here.
    const status = JSON.stringify({ status: { hard, used: hard } })
    const patch = ['patch', 'resourcequota', kind, '-n', 'quota', '--subresource=status', '--type=merge']
    await api().kubectl([...patch, '-p', status])
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
  const failed = await world.until('rude', server => reasonOf(server, 'Ready') === 'DiscoveryFailed')
  assert.match(conditionOf(failed.status, 'ToolsDiscovered')?.message ?? '', /quota/)
  await world.untilGateway('all', gateway => reasonOf(gateway, 'Ready') === 'PodRejected')

  await api().kubectl(['delete', 'resourcequota', '--all', '-n', 'quota'])
  world.clock.advance(60_000)
  await until(() => world.get('apps/v1', 'Deployment', 'mcp-packaged'))
  await world.until('rude', isReady)
  await until(() => world.get('apps/v1', 'Deployment', 'all-gateway'))
})

test('an object with one of our names and another owner is never changed', { skip }, async t => {
  const world = await createWorld(t, api().access, 'taken')
  const theirs = await world.apply(theirSecret('mcp-web'))
  await world.server('web', { npm: { package: 'web', version: '1.0.0' } })
  const refused = await world.until('web', server => reasonOf(server, 'Accepted') === 'NameTaken')
  assert.equal(reasonOf(refused, 'Ready'), 'NotAccepted')
  const still = await world.get('v1', 'Secret', 'mcp-web')
  assert.equal(still?.metadata.resourceVersion, theirs.metadata.resourceVersion)
  assert.equal(await world.get('apps/v1', 'Deployment', 'mcp-web'), undefined)
  await world.delete('Secret', 'mcp-web')
  world.clock.advance(60_000)
  await until(() => world.get('apps/v1', 'Deployment', 'mcp-web'))
})

function theirSecret(name: string): Kube<V1Secret> {
  const data = { whose: Buffer.from('theirs').toString('base64') }
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, data }
}
