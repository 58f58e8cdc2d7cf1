/** Secrets of users in a cluster, from manifests to requests: a real API server, the operator, and a router that reads what it is fed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Role } from '@kubernetes/client-node'
import { systemClock } from '../../core/async.ts'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import { createLog } from '../../core/log.ts'
import { createConnector } from '../../core/mcp/client/connector.ts'
import { startRouter } from '../../router/router.ts'
import { createKubernetesSource } from '../../router/source/kubernetes-source.ts'
import { createWorld, isReady, type World } from '../operator/world.ts'
import { apiServerOfTests, skipApiServer } from '../support/api-server.ts'
import { until } from '../support/until.ts'
import { startNotes } from '../upstreams/users/http.ts'
import { callAs, tokenOf } from './as-user.ts'

const skip = skipApiServer()
const api = apiServerOfTests(skip)

function secretOf(user: string, token: string): KubeObject {
  const metadata = {
    name: `notes-${user}`,
    labels: { 'portolan.dev/for': 'notes' },
    annotations: { 'portolan.dev/subject': `token#${user}` },
  }
  return { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { token } } as KubeObject
}

test('a router reads the Secrets of users that the operator names, and no others, as they come, change and go', {
  skip,
}, async t => {
  const notes = await startNotes('2025')
  t.after(() => notes.close())
  const world = await createWorld(t, api().access, 'of-users')
  const names = ['ada', 'ben', 'cyd']
  const callers = Object.fromEntries(names.map(name => [name, tokenOf(name)]))
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'callers' }, stringData: callers }
  await world.apply(secret as KubeObject)
  for (const name of ['ada', 'ben']) await world.apply(secretOf(name, `secret-of-${name}`))
  await world.server('notes', {
    remote: { url: notes.url },
    sessions: 'perUser',
    headers: [{ name: 'Authorization', value: 'Bearer for-lists' }],
    auth: { perUser: { secrets: { selector: { matchLabels: { 'portolan.dev/for': 'notes' } } } } },
  })
  await world.gateway('tools', {
    auth: { anonymous: 'Deny', jwt: [], tokenExchangeOrigins: [], tokens: { secretName: 'callers' } },
  })
  await world.until('notes', isReady)
  assert.ok(notes.requests.every(({ authorization }) => authorization === 'Bearer for-lists'))
  const { origin, log } = await routerOf(t, world)
  const headerOf = async (name: string) => {
    const { text, isError } = await callAs(origin, tokenOf(name), 'notes:about')
    return isError ? text : (JSON.parse(text) as { headers: Record<string, string> }).headers.authorization
  }
  await until(async () => (await headerOf('ada')) === 'Bearer secret-of-ada')
  assert.equal(await headerOf('ben'), 'Bearer secret-of-ben')
  assert.match((await headerOf('cyd')) ?? '', /there are none of token#cyd/)
  assert.deepEqual(await secretsInRole(world), ['callers', 'notes-ada', 'notes-ben'])
  await world.apply(secretOf('ada', 'secret-of-new-ada'))
  await world.apply(secretOf('cyd', 'secret-of-cyd'))
  await until(async () => (await headerOf('ada')) === 'Bearer secret-of-new-ada')
  await until(async () => (await headerOf('cyd')) === 'Bearer secret-of-cyd')
  await world.delete('Secret', 'notes-ben')
  await until(async () => /there are none of token#ben/.test((await headerOf('ben')) ?? ''))
  await until(async () => (await secretsInRole(world)).join() === 'callers,notes-ada,notes-cyd')
  const feed = await world.get('v1', 'ConfigMap', 'tools-router')
  for (const shown of [JSON.stringify(feed), log()]) assert.ok(!shown.includes('secret-of-'))
})

async function routerOf(t: { after(end: () => unknown): void }, { client, namespace }: World) {
  const lines: string[] = []
  const log = createLog({ level: 'trace', destination: { write: line => void lines.push(line) } })
  const life = new AbortController()
  const source = createKubernetesSource({ client, namespace, gateway: 'tools', log })
  const running = source.run(life.signal)
  const connect = createConnector({ secret: source.secret, clock: systemClock })
  const credentials = { secret: source.secret }
  const router = await startRouter({ source, connect, credentials, host: '127.0.0.1', port: 0, log })
  t.after(async () => {
    await router.close(0)
    life.abort()
    await running
  })
  return { origin: new URL(router.url).origin, log: () => lines.join('') }
}

async function secretsInRole(world: World): Promise<string[]> {
  const role = await world.get<Kube<V1Role>>('rbac.authorization.k8s.io/v1', 'Role', 'tools-gateway')
  const rules = role?.rules?.filter(({ resources }) => resources?.includes('secrets')) ?? []
  return rules.flatMap(({ resourceNames = [] }) => resourceNames).sort()
}
