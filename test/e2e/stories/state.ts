/** Servers with state, and servers of several pods. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../support/until.ts'
import { fixture, gateway, server } from '../support/manifests.ts'
import type { Stories } from '../support/story.ts'

export const stateStories: Stories = (running, options) => {
  test('each client of a perClient server has its own process, through every router', options, async t => {
    const space = await running().namespace('state', t)
    await space.apply(server('browser', { ...fixture(), sessions: 'perClient' }), gateway('tools'))
    await space.untilReady('browser')
    await space.untilServing('tools', { ready: 1 })
    const agent = await space.agent('tools')
    const pids = () => agent.calls(['browser:pid'], ['browser:pid'], ['browser:pid'], ['browser:pid'])
    const [one, other] = await Promise.all([pids(), pids()])
    assert.equal(new Set(one).size, 1, `pids of one client: ${one}`)
    assert.equal(new Set(other).size, 1, `pids of one client: ${other}`)
    assert.notEqual(one[0], other[0])
  })

  test('a server of three pods answers from several of them at a time', options, async t => {
    const space = await running().namespace('three', t)
    await space.apply(server('kit', { ...fixture(), scaling: { min: 3, max: 3 } }), gateway('tools'))
    await space.untilReady('kit')
    assert.equal((await space.server('kit'))?.status?.replicas?.ready, 3)
    await space.untilServing('tools', { ready: 1 })
    const agent = await space.agent('tools')
    const hosts = new Set<string>()
    await until('several pods have answered', async () => {
      // Each call in flight holds a connection, and each new connection goes to a random pod.
      const busy = Array.from({ length: 4 }, () => agent.call('kit:sleep', { ms: 2_000 }))
      const calls = Array.from({ length: 4 }, () => agent.call('kit:environment'))
      for (const text of await Promise.all(calls))
        hosts.add((JSON.parse(text) as { HOSTNAME: string }).HOSTNAME)
      await Promise.all(busy)
      return hosts.size > 1
    })
  })
}
