/** Users of a stdio server come and go: the operator follows the reports of a fake router. A real API server, without nodes. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { V1PersistentVolumeClaim } from '@kubernetes/client-node'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import { userNamed } from '../../core/mcp/user.ts'
import type { McpServerSpecInput } from '../../crds/server.ts'
import { ANNOTATION } from '../../operator/plan/names.ts'
import { apiServerOfTests, skipApiServer } from '../support/api-server.ts'
import { until } from '../support/until.ts'
import { runRouter, startRouter } from './router.ts'
import { createWorld, type World } from './world.ts'

const skip = skipApiServer()
const MINUTE = 60_000
const USERS = 200
const AT_ONCE = 50
const ADDRESS = '127.0.10.1'
const TOKENS = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'callers' }, stringData: {} }

const KIT: McpServerSpecInput = { image: { name: 'kit:1', command: ['/kit'] }, sessions: 'perUser' }

const api = apiServerOfTests(skip)

test(`${USERS} users come and go, and no object, status or metric of them is left`, { skip }, async t => {
  const { world, report } = await userWorld(t, 'come-and-go', ADDRESS, { max: AT_ONCE })
  const before = [...(await world.quiet()).keys()]

  const users = Array.from({ length: USERS }, (_, at) => userNamed(`token#guest-${at}`) ?? assert.fail())
  for (let at = 0; at < USERS; at += AT_ONCE) {
    const round = users.slice(at, at + AT_ONCE)
    report(round.map(({ digest }) => digest))
    await untilUsers(world, AT_ONCE)
    const present = new Set((await world.quiet()).keys())
    for (const { id } of round)
      for (const kind of ['Deployment', 'Service', 'Secret'])
        assert.ok(present.has(`${kind}/mcp-kit-u-${id}`), `${kind} of ${id}`)
    assert.equal(present.size, before.length + 3 * AT_ONCE)
    report([], Object.fromEntries(round.map(({ digest }) => [digest, 31 * MINUTE])))
    await untilIdle(world)
  }
  assert.deepEqual([...(await world.quiet()).keys()], before)
  const shown = JSON.stringify([
    await world.until('kit', () => true),
    await world.operator().metrics.registry.metrics(),
  ])
  for (const { id, digest } of users) assert.ok(!shown.includes(id) && !shown.includes(digest), id)
})

test('the volume of a user that lost its annotation is kept, and is that of the user again', {
  skip,
}, async t => {
  const users = { volume: { size: '2Gi' } }
  const { world, report } = await userWorld(t, 'lost', '127.0.10.3', users)
  const { id, digest } = userNamed('token#ada') ?? assert.fail()
  const name = `mcp-kit-u-${id}`
  const claim = () => world.get<Kube<V1PersistentVolumeClaim>>('v1', 'PersistentVolumeClaim', name)
  report([digest])
  await untilUsers(world, 1)
  const { uid } = (await until(claim)).metadata
  report([], { [digest]: 31 * MINUTE })
  await untilIdle(world)

  await api().kubectl(['annotate', 'pvc', name, '-n', 'lost', `${ANNOTATION.user}-`])
  await world.quiet()
  assert.equal((await claim())?.metadata.deletionTimestamp, undefined)
  // A later size is for new users.
  await world.server('kit', { ...KIT, users: { volume: { size: '1Gi' } } })
  report([digest])
  await untilUsers(world, 1)
  await until(async () => (await claim())?.metadata.annotations?.[ANNOTATION.user] === digest)
  const { metadata, spec } = (await claim()) ?? assert.fail()
  assert.deepEqual([metadata.uid, spec?.resources?.requests], [uid, { storage: '2Gi' }])
})

/** The server `kit`, and a gateway whose router reports what a test says. */
async function userWorld(
  t: TestContext,
  namespace: string,
  address: string,
  users: NonNullable<McpServerSpecInput['users']>,
) {
  const world = await createWorld(t, api().access, namespace)
  const { says } = await startRouter(t, address)
  const report = (users: readonly string[], instances: Record<string, number> = {}) => {
    const waiting = users.map(instance => ({ server: 'kit', instance, since: '2026-01-01T00:00:00.000Z' }))
    says({ generation: 1, exposedTokens: 5, servers: [{ name: 'kit', instances }], waiting })
  }
  report([])
  await world.apply(TOKENS as KubeObject)
  await world.server('kit', { ...KIT, users: { idleAfter: '30m', ...users } })
  await world.gateway('tools', {
    router: { replicas: 1, debug: false },
    auth: { anonymous: 'Deny', jwt: [], tokenExchangeOrigins: [], tokens: { secretName: 'callers' } },
  })
  await runRouter(world, 'tools', address)
  return { world, report }
}

/** Lets time pass until nobody has a pod. The first half hour may be over before the operator has read that nobody waits any more. */
async function untilIdle(world: World): Promise<void> {
  for (let halfHours = 0; (await usersOf(world)) > 0; halfHours++) {
    assert.ok(halfHours < 5, 'users who do nothing keep their pods')
    world.clock.advance(31 * MINUTE)
    await world.quiet()
  }
}

async function usersOf(world: World): Promise<number> {
  return (await world.until('kit', () => true)).status?.users?.wanted ?? 0
}

/** Waits until the status says that this many users have a pod. */
async function untilUsers(world: World, count: number): Promise<void> {
  await world.until('kit', ({ status }) => (status?.users?.wanted ?? 0) === count)
}
