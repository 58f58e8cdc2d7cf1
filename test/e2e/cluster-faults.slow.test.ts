/** What happens to calls while parts of a running cluster are killed: a steady load, one fault after the other, a table. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { V1Pod } from '@kubernetes/client-node'
import type { Kube } from '../../core/kube/object.ts'
import { skipCluster } from '../cluster/available.ts'
import { clusterConfig } from '../cluster/config.ts'
import { until } from '../support/until.ts'
import type { Agent } from './support/agent.ts'
import { killLeader, killPod, leaderOf } from './support/breaking.ts'
import { outcomeTable, reasonsOf } from './support/fault-table.ts'
import { type Fault, type Outcome, underLoad } from './support/load.ts'
import { fixture, gateway, server } from './support/manifests.ts'
import type { Namespace } from './support/namespace.ts'
import { type Portolan, startPortolan } from './support/portolan.ts'

const START_LIMIT_MS = 290_000
const OUTAGE_MS = Number(process.env.FAULT_SECONDS ?? 30) * 1_000
const LINK_LIMIT_MS = 200_000
const RESULTS = join(import.meta.dirname, '..', '..', '.portolan')
const skip = clusterConfig().context ? 'an existing cluster is not broken' : skipCluster()
const options = { skip }

/** Pods of a lost node are replaced after 30 s. */
const tolerations = ['unreachable', 'not-ready'].map(what => ({
  key: `node.kubernetes.io/${what}`,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: 30,
}))

let portolan: Portolan
let space: Namespace
let agent: Agent
const outcomes: [string, Outcome][] = []

before(
  async () => {
    if (skip) return
    portolan = await startPortolan({ nodes: 2, values: { operator: { replicas: 2, tolerations } } })
    space = await portolan.namespace('faults')
    const pod = { tolerations }
    await space.apply(
      server('one', { ...fixture(), pod }),
      server('two', { ...fixture(), pod, scaling: { min: 2, max: 2 } }),
      gateway('tools', { router: { replicas: 2, pod } }),
    )
    await space.untilServing('tools', { ready: 2 })
    agent = await space.agent('tools', { nodeName: 'node1' })
  },
  { timeout: START_LIMIT_MS },
)
after(async () => {
  await portolan?.stop()
  if (outcomes.length === 0) return
  mkdirSync(RESULTS, { recursive: true })
  const table = outcomeTable(outcomes)
  writeFileSync(join(RESULTS, 'cluster-faults.md'), table)
  process.stderr.write(`\n${table}\n`)
})

test("if a server's process is killed, only the calls that it was answering fail", options, async () => {
  const outcome = await faultUnderLoad("a server's process, the only one", 'one', {
    async strike() {
      const [pid, environment] = await agent.calls(['one:pid'], ['one:environment'])
      const { HOSTNAME } = JSON.parse(environment ?? '{}') as { HOSTNAME: string }
      const script = `process.kill(${pid}, 'SIGKILL')`
      const exec = ['exec', HOSTNAME, '--container', 'server', '--', 'node', '--eval', script]
      await portolan.kubectl('--namespace', space.name, ...exec)
    },
    recovered: () =>
      until('the server answers', async () => (await agent.call('one:echo', { text: 'x' })) === 'x'),
  })
  assert.deepEqual(outcome.lost, [])
})

test('if one of two pods of a server is killed, the other one answers', options, async () => {
  const outcome = await faultUnderLoad('a pod of a server of two', 'two', killing('two', 2))
  assert.deepEqual(outcome.lost, [])
  assert.ok(outcome.longestGapMs < 2_000, `${outcome.longestGapMs} ms without an answer`)
})

test('if one of two routers is killed, requests to the other are answered', options, async () => {
  const outcome = await faultUnderLoad('a router of two', 'two', killing('tools', 2))
  assert.deepEqual(outcome.lost, [])
})

test('if the leading operator is killed, no call fails, and the other one takes over', options, async () => {
  let leader = ''
  const outcome = await faultUnderLoad('the operator that leads', 'two', {
    strike: async () => {
      leader = await killLeader(portolan)
    },
    async recovered() {
      await until('another operator leads', async () => {
        const now = await leaderOf(portolan)
        return now !== undefined && now !== '' && now !== leader
      })
      await changesAreServed()
    },
  })
  assert.equal(outcome.right, outcome.calls)
})

test('while the API server is down routers keep serving, and afterwards changes are applied', {
  ...options,
  timeout: 600_000,
}, async () => {
  const outcome = await faultUnderLoad(`the API server, away for ${OUTAGE_MS / 1_000} s`, 'two', {
    async strike() {
      await portolan.cluster.kill('apiserver')
      await sleep(OUTAGE_MS)
      await portolan.cluster.restart('apiserver')
      // elsewhere these exit when they lose their leases, and are restarted; here they elect no leader, and would continue with stale data
      await Promise.all(['controller-manager', 'scheduler'].map(portolan.cluster.restart))
    },
    recovered: changesAreServed,
  })
  assert.equal(outcome.right, outcome.calls)
})

test('if etcd is restarted, no call fails', options, async () => {
  const outcome = await faultUnderLoad('etcd', 'two', {
    strike: () => portolan.cluster.restart('etcd'),
    recovered: changesAreServed,
  })
  assert.equal(outcome.right, outcome.calls)
})

test('if the link of a node is cut, its pods are replaced on the other node', {
  ...options,
  timeout: 2 * LINK_LIMIT_MS,
}, async t => {
  t.after(() => portolan.cluster.node(2).linkUp())
  const outcome = await faultUnderLoad("a node's link", 'two', {
    strike: () => portolan.cluster.node(2).linkDown(),
    recovered: async () => {
      await until('all pods run on the other node', () => allOnFirstNode('two', 'tools'), LINK_LIMIT_MS)
      await changesAreServed(LINK_LIMIT_MS)
    },
  })
  assert.ok(outcome.longestGapMs < 15_000, `${outcome.longestGapMs} ms without an answer`)
  // only calls that were on their way to the lost node: about a second of the load
  assert.ok(outcome.lost.length <= 20, `${outcome.lost.length} calls lost`)
})

async function faultUnderLoad(what: string, name: string, fault: Fault): Promise<Outcome> {
  const load = { gateway: 'tools', toolPath: `${name}:echo`, nodeName: 'node1' }
  const outcome = await underLoad(portolan, space, load, fault)
  outcomes.push([what, outcome])
  for (const reason of reasonsOf(outcome)) process.stderr.write(`${what}: ${reason}\n`)
  assert.equal(outcome.wrong, 0, 'wrong answers')
  return outcome
}

/** One of the pods ends by SIGKILL; all is well when there are as many ready as before. */
function killing(instance: string, count: number): Fault {
  return {
    async strike() {
      const [victim] = await space.pods(instance)
      if (victim) killPod(portolan.cluster.name, victim)
      await until('the killed pod is not ready', async () => (await readyPods(instance)).length < count)
    },
    recovered: () =>
      until('as many pods are ready as before', async () => (await readyPods(instance)).length === count),
  }
}

/** A change that is made now reaches agents: the operator works, and routers get its results. */
async function changesAreServed(limitMs?: number): Promise<void> {
  const description = `Heard of at ${Date.now()}`
  await until('the API server takes a change', async () => {
    await space.apply(
      server('one', { ...fixture(), pod: { tolerations }, tools: { overrides: { pid: { description } } } }),
    )
    return true
  })
  await until(
    'agents see the change',
    async () => (await agent.describe(description)).includes(description),
    limitMs,
  )
}

async function readyPods(instance: string): Promise<Kube<V1Pod>[]> {
  const pods = await space.pods(instance)
  return pods.filter(
    ({ metadata, status }) =>
      !metadata.deletionTimestamp &&
      status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'),
  )
}

async function allOnFirstNode(...instances: string[]): Promise<boolean> {
  const pods = await Promise.all(instances.map(readyPods))
  return pods.every(each => each.length === 2 && each.every(({ spec }) => spec?.nodeName === 'node1'))
}
