/** Servers that sleep in a real cluster: what wakes them, how calls that wait end, and that no call is lost. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { skipCluster } from '../cluster/available.ts'
import { clusterConfig } from '../cluster/config.ts'
import { until } from '../support/until.ts'
import { killLeader } from './support/breaking.ts'
import { type Caller, callerOf } from './support/caller.ts'
import { fixture, gateway, server } from './support/manifests.ts'
import type { Namespace } from './support/namespace.ts'
import { type Portolan, startPortolan } from './support/portolan.ts'

const START_LIMIT_MS = 290_000
const skip = clusterConfig().context ? 'an existing cluster is not broken' : skipCluster()
const options = { skip, timeout: 240_000 }
const SLEEPY = { min: 0, idleAfter: '2s' }

let portolan: Portolan
let space: Namespace
let caller: Caller

before(
  async () => {
    if (skip) return
    portolan = await startPortolan({ values: { operator: { replicas: 2 } } })
    space = await portolan.namespace('sleep')
    await space.apply(
      server('sleeper', { ...fixture(), scaling: SLEEPY, limits: { startTimeout: '30s' } }),
      server('hopeless', { ...fixture(), scaling: SLEEPY, limits: { startTimeout: '8s' } }),
      gateway('tools', { router: { replicas: 2 } }),
      gateway('others', { router: { replicas: 1 } }),
    )
    await asleep('sleeper', 'hopeless')
    await space.untilServing('tools', { ready: 2 })
    await space.untilServing('others', { ready: 2 })
    caller = await callerOf(portolan.cluster, space.name, 'tools')
  },
  { timeout: START_LIMIT_MS },
)
after(async () => {
  caller?.stop()
  await portolan?.stop()
})

test('a server that nothing uses sleeps, is Ready, and its tools are found', options, async () => {
  const { status } = (await space.server('sleeper')) ?? {}
  assert.deepEqual(status?.replicas, {
    wanted: 0,
    ready: 0,
    why: 'nothing has used it for scaling.idleAfter',
  })
  await portolan.kubectl(
    '--namespace',
    space.name,
    'wait',
    '--for=condition=Ready',
    'mcpserver/sleeper',
    '--timeout=1s',
  )
  assert.match(await caller.find('echo'), /sleeper:echo/)
  assert.deepEqual(await space.pods('sleeper'), [])
})

test('the first call wakes a sleeping server and is answered', options, async t => {
  const began = performance.now()
  assert.equal(await caller.call('sleeper:echo', { text: 'woken' }), 'woken')
  t.diagnostic(`answered after ${Math.round(performance.now() - began)} ms`)
  await asleep('sleeper')
})

test('200 calls through two gateways to a sleeping server are all answered by one pod', options, async t => {
  const other = await callerOf(portolan.cluster, space.name, 'others')
  t.after(other.stop)
  const began = performance.now()
  const calls = Array.from({ length: 200 }, (_, at) =>
    (at % 2 === 0 ? caller : other).call('sleeper:echo', { text: `call ${at}` }),
  )
  const answers = await Promise.all(calls)
  t.diagnostic(`all answered after ${Math.round(performance.now() - began)} ms`)
  assert.deepEqual(
    answers,
    answers.map((_, at) => `call ${at}`),
  )
  assert.equal((await space.pods('sleeper')).length, 1)
  await asleep('sleeper')
})

test('if no node has room, a call fails and says so, and a later call is answered', options, async t => {
  t.after(() => portolan.kubectl('uncordon', 'node1'))
  await portolan.kubectl('cordon', 'node1')
  await assert.rejects(
    caller.call('hopeless:echo', { text: 'x' }),
    /asleep, and could not be woken in 8 s: no node has room/,
  )
  await space.untilSaid('hopeless', 'Ready', 'Unschedulable')
  await portolan.kubectl('uncordon', 'node1')
  // Ready, or already asleep again: nobody waits for it any more.
  await until('the server is Ready again', async () => {
    const { conditions = [] } = (await space.server('hopeless'))?.status ?? {}
    return conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
  })
  assert.equal(await caller.call('hopeless:echo', { text: 'room' }), 'room')
  await asleep('hopeless')
})

test('if the leading operator is killed while a call waits, the call is still answered', options, async t => {
  const began = performance.now()
  const call = caller.call('sleeper:echo', { text: 'another' })
  await killLeader(portolan)
  assert.equal(await call, 'another')
  t.diagnostic(`answered after ${Math.round(performance.now() - began)} ms`)
  await asleep('sleeper')
})

test(
  'while the API server is down, servers cannot be woken, and the error of calls says so',
  options,
  async () => {
    await portolan.cluster.kill('apiserver')
    await assert.rejects(caller.call('hopeless:echo', { text: 'x' }), /asleep, and nobody can wake it now/)
    await portolan.cluster.restart('apiserver')
    await Promise.all(['controller-manager', 'scheduler'].map(portolan.cluster.restart))
    await until(
      'the server can be woken again',
      async () => (await caller.call('hopeless:echo', { text: 'x' })) === 'x',
    )
    await asleep('hopeless')
  },
)

test('if the only waiting caller disconnects, the router stops waiting', options, async t => {
  const other = await callerOf(portolan.cluster, space.name, 'others')
  t.after(other.stop)
  t.after(() => portolan.kubectl('uncordon', 'node1'))
  await portolan.kubectl('cordon', 'node1')
  const gone = new AbortController()
  const call = other.call('sleeper:echo', { text: 'x' }, gone.signal)
  await until('the router waits', async () => (await other.waiting()).length > 0)
  gone.abort()
  await assert.rejects(call)
  await until('the router waits no more', async () => (await other.waiting()).length === 0)
  await portolan.kubectl('uncordon', 'node1')
  await asleep('sleeper')
})

test('a missing image is noticed at the next wake, and the error of the call names it', options, async t => {
  const image = { name: 'portolan-test/gone:1', command: ['/server'] }
  await space.apply(server('sleeper', { image, scaling: SLEEPY, limits: { startTimeout: '20s' } }))
  t.after(() => space.apply(server('sleeper', { ...fixture(), scaling: SLEEPY })))
  await assert.rejects(
    caller.call('sleeper:echo', { text: 'x' }),
    /could not be woken in 20 s: its image cannot be pulled/,
  )
  await space.untilSaid('sleeper', 'Ready', 'ImagePullFailed')
})

async function asleep(...names: string[]): Promise<void> {
  await Promise.all(names.map(name => space.untilSaid(name, 'Ready', 'Asleep')))
  await Promise.all(
    names.map(name => until(`no pod of ${name} is left`, async () => (await space.pods(name)).length === 0)),
  )
}
