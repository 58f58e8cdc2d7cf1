/** `helm upgrade` from a released version under a steady load: every call is answered, and servers are updated one after the other. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { skipCluster } from '../cluster/available.ts'
import { clusterConfig } from '../cluster/config.ts'
import { releasedVersion, skipReleased } from '../images/released.ts'
import { until } from '../support/until.ts'
import { underLoad } from './support/load.ts'
import { fixture, gateway, server } from './support/manifests.ts'
import type { Namespace } from './support/namespace.ts'
import { type Portolan, startPortolan } from './support/portolan.ts'

const START_LIMIT_MS = 290_000
const CALLS_PER_SECOND = 10
const UPGRADE_LIMIT_MS = 150_000
const SERVERS = ['kit', 'other']
const skip = clusterConfig().context
  ? 'an existing cluster is named: it does not have the images'
  : skipCluster() || skipReleased()

let portolan: Portolan

before(
  async () => {
    if (skip) return
    const { chart, archive, tag } = await releasedVersion()
    portolan = await startPortolan({
      chart: { path: chart, values: { image: { tag } } },
      imported: [archive],
    })
  },
  { timeout: START_LIMIT_MS },
)
after(() => portolan?.stop())

test('an upgrade of the chart from 0.1.0 loses no call, and a server waits for its turn', {
  skip,
  timeout: 280_000,
}, async t => {
  const space = await portolan.namespace('upgraded', t)
  await space.apply(
    server('kit', fixture()),
    server('other', fixture()),
    gateway('tools', { router: { replicas: 2 } }),
  )
  await space.untilServing('tools', { ready: 2, routers: 2 })
  assert.deepEqual(await imagesOf(space), ['portolan/portolan:released'])
  const load = { gateway: 'tools', toolPath: 'kit:echo', perSecond: CALLS_PER_SECOND }
  const outcome = await underLoad(portolan, space, load, {
    strike: () => Promise.all([portolan.upgrade(), oneWaits(space)]),
    recovered: async () => {
      const isNew = async () => (await imagesOf(space)).join() === 'portolan/portolan:test'
      await until('nothing of the former version runs', isNew)
      await space.untilServing('tools', { ready: 2, routers: 2 })
    },
  })
  assert.deepEqual([outcome.lost, outcome.wrong, outcome.right], [[], 0, outcome.calls])
  assert.ok(outcome.calls > 0)
})

/** Resolves once a server says that it waits for its turn, since no two servers of a namespace are updated at once. */
function oneWaits(space: Namespace): Promise<unknown> {
  return until(
    'a server waits for its turn',
    async () => {
      const servers = await Promise.all(SERVERS.map(name => space.server(name)))
      const conditions = servers.flatMap(server => server?.status?.conditions ?? [])
      return conditions.some(({ type, reason }) => type === 'Progressing' && reason === 'UpdateQueued')
    },
    UPGRADE_LIMIT_MS,
  )
}

/** Portolan's images in the pods of the servers and the routers, each once. */
async function imagesOf(space: Namespace): Promise<string[]> {
  const pods = (await Promise.all([...SERVERS, 'tools'].map(name => space.pods(name)))).flat()
  const containers = pods.flatMap(({ spec }) => [
    ...(spec?.initContainers ?? []),
    ...(spec?.containers ?? []),
  ])
  const images = containers.map(({ image = '' }) => image)
  return [...new Set(images.filter(image => image.startsWith('portolan/')))].sort()
}
