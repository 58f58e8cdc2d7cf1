/** Users of a stdio server come and go: the operator follows the reports of a fake router. A real API server, without nodes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject } from '../../core/kube/object.ts'
import { userNamed } from '../../core/mcp/user.ts'
import { apiServerOfTests, skipApiServer } from '../support/api-server.ts'
import { runRouter, startRouter } from './router.ts'
import { createWorld, type World } from './world.ts'

const skip = skipApiServer()
const MINUTE = 60_000
const USERS = 200
const AT_ONCE = 50
const ADDRESS = '127.0.10.1'
const TOKENS = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'callers' }, stringData: {} }

const api = apiServerOfTests(skip)

test(`${USERS} users come and go, and no object, status or metric of them is left`, { skip }, async t => {
  const world = await createWorld(t, api().access, 'come-and-go')
  const { says } = await startRouter(t, ADDRESS)
  const report = (users: readonly string[], instances: Record<string, number> = {}) => {
    const waiting = users.map(instance => ({ server: 'kit', instance, since: '2026-01-01T00:00:00.000Z' }))
    says({ generation: 1, exposedTokens: 5, servers: [{ name: 'kit', instances }], waiting })
  }
  report([])
  await world.apply(TOKENS as KubeObject)
  await world.server('kit', {
    image: { name: 'kit:1', command: ['/kit'] },
    sessions: 'perUser',
    users: { max: AT_ONCE, idleAfter: '30m' },
  })
  await world.gateway('tools', {
    router: { replicas: 1, debug: false },
    auth: { anonymous: 'Deny', jwt: [], tokens: { secretName: 'callers' } },
  })
  await runRouter(world, 'tools', ADDRESS)
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
