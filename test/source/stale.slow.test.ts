/** When a router's configuration counts as stale: if a real API server refuses it, but not while that server is down. */
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { KubeClient } from '../../core/kube/client.ts'
import { createLog } from '../../core/log.ts'
import { createKubernetesSource } from '../../router/source/kubernetes-source.ts'
import { snapshotOf } from '../meta/fixture.ts'
import { skipApiServer } from '../support/api-server.ts'
import { createLeapClock } from '../support/leap-clock.ts'
import { until } from '../support/until.ts'
import { type Api, startApi } from './api.ts'

const skip = skipApiServer()
const START_LIMIT_MS = 120_000
/** Longer than a watch may be silent, so that it is opened again. */
const SILENCE_MS = 100_000

let api: Api
before(
  async () => {
    if (!skip) api = await startApi()
  },
  { timeout: START_LIMIT_MS },
)
after(() => api?.close())

test('a router whose ServiceAccount was deleted is stale after 30 s, even if there is a new one, and keeps reporting it', {
  skip,
}, async t => {
  const { source, clock, warnings } = await followAs(t, 'deleted')
  await api.client.delete({ apiVersion: 'v1', kind: 'ServiceAccount', namespace: 'default', name: 'deleted' })
  await api.serviceAccount('deleted')
  // The API server caches successful authentications for 10 s.
  while (!warnings().some(({ reason }) => reason === 'Unauthorized')) {
    clock.advance(SILENCE_MS)
    await sleep(200)
  }
  assert.equal(source.stale(), undefined)
  clock.advance(30_000)
  assert.match(source.stale() ?? '', /401/)
  const count = warnings().length
  clock.advance(30_000)
  await until(() => warnings().length !== count)
})

test('a router that may no longer read its feed is stale until it may again', { skip }, async t => {
  const { source, clock, warnings } = await followAs(t, 'forbidden')
  const binding = { kind: 'RoleBinding', namespace: 'default', name: 'forbidden-gateway' }
  await api.client.delete({ apiVersion: 'rbac.authorization.k8s.io/v1', ...binding })
  clock.advance(SILENCE_MS)
  await until(() => warnings().some(({ reason }) => reason === 'Forbidden'))
  clock.advance(30_000)
  assert.match(source.stale() ?? '', /403/)
  await api.bind('forbidden', 'forbidden')
  await until(() => source.stale() === undefined)
})

test('a router is not stale while the API server is down, however long', { skip }, async t => {
  const { source, clock, warnings } = await followAs(t, 'away')
  await api.server.kill()
  t.after(() => api.server.restart())
  await until(() => warnings().length > 0)
  clock.advance(600_000)
  await sleep(200)
  assert.equal(source.stale(), undefined)
})

/** A source with the rights and the token of a router that has its first snapshot. */
async function followAs(t: TestContext, name: string) {
  await api.serviceAccount(name)
  await api.role(name, [`${name}-catalog-0`])
  await api.bind(name, name)
  await api.publish(name, snapshotOf({ [name]: { offers: { tools: [] } } }, {}, 0))
  const client = new KubeClient(await api.accessOf(await api.token(name)))
  const lines: string[] = []
  const log = createLog({ level: 'warn', destination: { write: line => void lines.push(line) } })
  const clock = createLeapClock()
  const source = createKubernetesSource({ client, namespace: 'default', gateway: name, log, clock })
  const life = new AbortController()
  const running = source.run(life.signal)
  t.after(async () => {
    life.abort()
    await running
    await client.close()
  })
  for await (const _ of source.watch(life.signal)) break
  const warnings = () => lines.map(line => JSON.parse(line) as { reason?: string; msg: string })
  return { source, clock, warnings: () => warnings().filter(({ msg }) => msg === 'watch interrupted') }
}
