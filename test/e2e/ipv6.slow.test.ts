/** Portolan in a real cluster that has only IPv6 addresses, with policies enforced: servers of every kind, and sessions whose state one of two routers keeps. */
import assert from 'node:assert/strict'
import { isIPv6 } from 'node:net'
import { after, before, test } from 'node:test'
import { skipCluster } from '../cluster/available.ts'
import { clusterConfig } from '../cluster/config.ts'
import { enforcePolicies } from '../cluster/policies/enforce.ts'
import { FIXTURES, fixture, gateway, server } from './support/manifests.ts'
import { type Portolan, startPortolan } from './support/portolan.ts'
import { programPod, service } from './support/program.ts'

const START_LIMIT_MS = 290_000
const CLIENTS = 4
const skip = clusterConfig().context ? 'an existing cluster is named: it lacks the images' : skipCluster()

let portolan: Portolan

before(
  async () => {
    if (!skip) portolan = await startPortolan({ family: 6 })
  },
  { timeout: START_LIMIT_MS },
)
after(() => portolan?.stop())

test('servers of every kind are served, and each client of two routers keeps its own state', {
  skip,
  timeout: 400_000,
}, async t => {
  const enforcement = await enforcePolicies(portolan.cluster)
  t.after(() => enforcement.stop())
  const space = await portolan.namespace('six')
  await space.apply(
    programPod('origin', ['/usr/local/bin/node', '/fixtures/main.js', 'sdk1', 'stateful'], FIXTURES),
    service('origin', 3_000),
    server('kit', { npm: { package: '@modelcontextprotocol/server-everything', args: ['stdio'] } }),
    server('private', { ...fixture(), tls: true, sessions: 'perClient' }),
    server('web', {
      image: { name: FIXTURES, args: ['sdk1', 'stateless', '3000'], transport: 'http', port: 3_000 },
    }),
    server('far', { remote: { url: `http://origin.${space.name}.svc:3000/mcp` } }),
    server('api', { remote: { url: `https://[${portolan.cluster.addresses.apiService}]/mcp` } }),
    gateway('tools', { router: { replicas: 2 } }),
  )
  await space.untilReady('kit', 'private', 'web', 'far')
  await space.untilSaid('api', 'Ready', 'NotPermitted')
  await space.untilServing('tools', { ready: 4, routers: 2 })
  for (const pod of [...(await space.pods('tools')), ...(await space.pods('kit'))])
    assert.ok(isIPv6(pod.status?.podIP ?? ''))
  const agent = await space.agent('tools')
  const text = 'over IPv6'
  for (const name of ['kit', 'web', 'far'])
    assert.match(await agent.call(`${name}:echo`, { text, message: text }), /over IPv6/)
  // Requests of a session reach either router, which finds the owner of its state by an address in the session's id.
  const pids = await Promise.all(
    Array.from({ length: CLIENTS }, () =>
      agent.calls(...Array.from({ length: 4 }, () => ['private:pid'] as [string])),
    ),
  )
  for (const own of pids) assert.equal(new Set(own).size, 1)
  assert.equal(new Set(pids.flat()).size, CLIENTS)
})
