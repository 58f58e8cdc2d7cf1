/** Long calls are answered though the pods that work on them are replaced. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../support/until.ts'
import { underLoad } from '../support/load.ts'
import { fixture, gateway, server } from '../support/manifests.ts'
import type { Stories } from '../support/story.ts'

const CALL_MS = 45_000
/** The calls, and what pods take to start and end on a busy machine. */
const ROLLOUT_LIMIT_MS = CALL_MS + 150_000

export const longCallStories: Stories = (running, options) => {
  test('calls of 45 s are answered during a rollout of their router and their bridge', options, async t => {
    const portolan = running()
    const space = await portolan.namespace('long-calls', t)
    const limits = { concurrency: 100, callTimeout: '60s' }
    const kit = (revision: string) =>
      server('kit', { ...fixture(), limits, env: [{ name: 'REVISION', value: revision }] })
    const tools = (revision: string) =>
      gateway('tools', { router: { replicas: 2, pod: { metadata: { annotations: { revision } } } } })
    await space.apply(kit('1'), tools('1'))
    await space.untilServing('tools', { ready: 1, routers: 2 })
    const names = async () =>
      (await Promise.all([space.pods('kit'), space.pods('tools')]))
        .flat()
        .map(({ metadata }) => metadata.name)
    const before = await names()
    const load = {
      gateway: 'tools',
      toolPath: 'kit:sleep',
      args: { ms: CALL_MS },
      expect: 'slept',
      perSecond: 1,
    }
    const outcome = await underLoad(portolan, space, load, {
      strike: () => space.apply(kit('2'), tools('2')),
      recovered: async () => {
        const isDone = async () => (await names()).every(name => !before.includes(name))
        await until('no old pod is left', isDone, ROLLOUT_LIMIT_MS)
        await space.untilServing('tools', { ready: 1, routers: 2 })
      },
    })
    assert.deepEqual([outcome.lost, outcome.inFlight, outcome.right], [[], 0, outcome.calls])
    assert.ok(outcome.calls > 0)
  })
}
