/** Objects that the cluster refuses, or whose name is taken: reported, and created once that is possible. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Secret } from '@kubernetes/client-node'
import type { Kube } from '../../core/kube/object.ts'
import { userNamed } from '../../core/mcp/user.ts'
import { apiServerOfTests, skipApiServer } from '../support/api-server.ts'
import { until } from '../support/until.ts'
import { answer, startRude } from '../upstreams/http/rude.ts'
import { limit, unlimit } from './quota.ts'
import { runRouter, startRouter } from './router.ts'
import { conditionOf, createWorld, isReady, reasonOf } from './world.ts'

const skip = skipApiServer()
const ADDRESS = '127.0.10.2'

const api = apiServerOfTests(skip)

test('objects that a rule of the cluster refuses are reported, and created once they are allowed', {
  skip,
}, async t => {
  const rude = await startRude({ 'tools/list': answer({ tools: [] }) })
  t.after(() => rude.close())
  const world = await createWorld(t, api().access, 'quota')
  for (const kind of ['configmaps', 'services']) await limit(api(), 'quota', kind, 0)
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

  await unlimit(api(), 'quota')
  world.clock.advance(60_000)
  await until(() => world.get('apps/v1', 'Deployment', 'mcp-packaged'))
  await world.until('rude', isReady)
  await until(() => world.get('apps/v1', 'Deployment', 'all-gateway'))
})

test('what an admission policy without a reason denies is no fault of the manifest', { skip }, async t => {
  const world = await createWorld(t, api().access, 'policy')
  await forbidServices('policy')
  await world.server('packaged', { npm: { package: 'web', version: '1.0.0' } })
  const denied = await world.until('packaged', server => reasonOf(server, 'Ready') === 'PodRejected')
  assert.match(conditionOf(denied.status, 'Ready')?.message ?? '', /no services here/)
  assert.equal(reasonOf(denied, 'Accepted'), 'Accepted')
})

/** By a ValidatingAdmissionPolicy, which the API server enforces after a moment. */
async function forbidServices(namespace: string): Promise<void> {
  const { kubectl } = api()
  const apiVersion = 'admissionregistration.k8s.io/v1'
  const metadata = { name: 'no-services' }
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['services'] }
  const policy = {
    ...{ apiVersion, kind: 'ValidatingAdmissionPolicy', metadata },
    spec: {
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: 'false', message: 'no services here' }],
    },
  }
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': namespace } }
  const binding = {
    ...{ apiVersion, kind: 'ValidatingAdmissionPolicyBinding', metadata },
    spec: {
      policyName: metadata.name,
      validationActions: ['Deny'],
      matchResources: { namespaceSelector },
    },
  }
  for (const object of [policy, binding]) await kubectl(['apply', '-f', '-'], JSON.stringify(object))
  const create = ['create', 'service', 'clusterip', 'probe', '--tcp=80', '-n', namespace, '--dry-run=server']
  await until(() =>
    kubectl(create).then(
      () => false,
      error => /no services here/.test(String(error)),
    ),
  )
}

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

test('what a rule of the cluster refuses for one user keeps nothing from the others', { skip }, async t => {
  const world = await createWorld(t, api().access, 'user-quota')
  const { says } = await startRouter(t, ADDRESS)
  const report = (users: readonly string[], instances: Record<string, number> = {}) => {
    const waiting = users.map(instance => ({ server: 'kit', instance, since: '2026-01-01T00:00:00.000Z' }))
    says({ generation: 1, exposedTokens: 5, servers: [{ name: 'kit', instances }], waiting })
  }
  const [first, second] = ['token#ada', 'token#ben'].map(subject => userNamed(subject) ?? assert.fail())
  assert.ok(first && second && first.digest > second.digest)
  report([first.digest])
  await world.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'callers' } })
  await limit(api(), 'user-quota', 'persistentvolumeclaims', 1)
  await world.server('kit', {
    image: { name: 'kit:1', command: ['/kit'] },
    sessions: 'perUser',
    users: { idleAfter: '30m', volume: { size: '1Gi' } },
  })
  await world.gateway('tools', {
    router: { replicas: 1, debug: false },
    auth: { anonymous: 'Deny', jwt: [], tokenExchangeOrigins: [], tokens: { secretName: 'callers' } },
  })
  await runRouter(world, 'tools', ADDRESS)
  const podOf = (id: string) => world.get('apps/v1', 'Deployment', `mcp-kit-u-${id}`)
  await until(() => podOf(first.id))

  // The objects of the second user come first.
  report([second.digest], { [first.digest]: 0 })
  const hindered = await world.until('kit', ({ status }) => {
    const [problem] = status?.users?.problems ?? []
    return problem?.user === second.id && problem.reason === 'PodRejected'
  })
  assert.match(hindered.status?.users?.problems?.[0]?.message ?? '', /persistentvolumeclaims .*quota/)
  assert.notEqual(reasonOf(hindered, 'Ready'), 'PodRejected')
  assert.equal(await podOf(second.id), undefined)
  const image = { name: 'kit:2', command: ['/kit'] }
  await world.server('kit', { image, sessions: 'perUser', users: { volume: { size: '1Gi' } } })
  for (const name of ['mcp-kit', `mcp-kit-u-${first.id}`])
    await until(async () => JSON.stringify(await world.get('apps/v1', 'Deployment', name)).includes('kit:2'))

  report([second.digest], { [first.digest]: 31 * 60_000 })
  world.clock.advance(31 * 60_000)
  await until(async () => !(await podOf(first.id)))
  await unlimit(api(), 'user-quota')
  world.clock.advance(60_000)
  await until(() => podOf(second.id))

  // What is refused for the server keeps the pods of its users from starting, but not from ending.
  await limit(api(), 'user-quota', 'count/networkpolicies.networking.k8s.io', 0)
  const users = { volume: { size: '1Gi' } }
  await world.server('kit', { npm: { package: 'kit', version: '1.0.0' }, sessions: 'perUser', users })
  await world.until('kit', server => reasonOf(server, 'Ready') === 'PodRejected')
  report([], { [second.digest]: 31 * 60_000 })
  await until(async () => {
    // Half an hour may be over before the operator has read that nobody waits any more.
    world.clock.advance(31 * 60_000)
    return !(await podOf(second.id))
  })
})

function theirSecret(name: string): Kube<V1Secret> {
  const data = { whose: Buffer.from('theirs').toString('base64') }
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, data }
}
