/** Servers that sleep and wake all the time under load, and one that grows in a burst: no call is lost. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { skipCluster } from '../cluster/available.ts'
import { clusterConfig } from '../cluster/config.ts'
import { type Caller, callerOf } from './support/caller.ts'
import { fixture, gateway, server } from './support/manifests.ts'
import type { Namespace } from './support/namespace.ts'
import { type Portolan, startPortolan } from './support/portolan.ts'

const START_LIMIT_MS = 290_000
const CYCLE_LIMIT_MS = 900_000
const skip = clusterConfig().context ? 'an existing cluster is not loaded' : skipCluster()
const SERVERS = 8
/** Of each server. `SLEEP_WAKES=25` makes 200 in all, which takes ten minutes on a busy machine. */
const WAKES = Number(process.env.SLEEP_WAKES ?? 5)
/** A server goes to sleep one to three seconds after its last call; its pod ends some seconds later. */
const PAUSES_MS = { least: 1_500, spread: 5_500 }
const BURST = 200

let portolan: Portolan
let space: Namespace
let caller: Caller
const names = Array.from({ length: SERVERS }, (_, at) => `cycle-${at}`)

before(
  async () => {
    if (skip) return
    portolan = await startPortolan()
    space = await portolan.namespace('cycles')
    // Pods of a busy machine start slowly.
    const limits = { startTimeout: '3m', concurrency: 200 }
    await space.apply(
      ...names.map(name => server(name, { ...fixture(), scaling: { min: 0, idleAfter: '1s' }, limits })),
      server('burst', { ...fixture(), scaling: { min: 1, max: 4, callsPerPod: 10 }, limits }),
      gateway('tools', { router: { replicas: 1 } }),
    )
    await Promise.all(names.map(name => space.untilSaid(name, 'Ready', 'Asleep')))
    await space.untilServing('tools', { ready: SERVERS + 1 })
    caller = await callerOf(portolan.cluster, space.name, 'tools')
  },
  { timeout: START_LIMIT_MS },
)
after(async () => {
  caller?.stop()
  await portolan?.stop()
})

test(`a burst of ${BURST} calls is answered, and the server is scaled to its maximum of 4 pods`, {
  skip,
}, async t => {
  const times = await Promise.all(
    Array.from({ length: BURST }, async () => {
      const began = performance.now()
      assert.equal(await caller.call('burst:sleep', { ms: 5_000 }), 'slept')
      return performance.now() - began
    }),
  )
  const sorted = times.sort((one, other) => one - other)
  t.diagnostic(
    `p50 ${Math.round(sorted[BURST / 2] ?? 0)} ms, p95 ${Math.round(sorted[Math.floor(BURST * 0.95)] ?? 0)} ms`,
  )
  const { status } = (await space.server('burst')) ?? {}
  assert.equal(status?.replicas?.wanted, 4)
})

test(`${SERVERS} servers wake ${SERVERS * WAKES} times in all under load, and no call is lost`, {
  skip,
  timeout: CYCLE_LIMIT_MS,
}, async t => {
  const began = performance.now()
  const seen = await Promise.all(names.map(cycle)).catch(async error => {
    for (const line of await failedCalls()) t.diagnostic(line)
    throw error
  })
  const calls = seen.reduce((sum, count) => sum + count, 0)
  const seconds = Math.round((performance.now() - began) / 1_000)
  t.diagnostic(`${calls} calls and ${SERVERS * WAKES} wakes in ${seconds} s`)
})

/** The lines of the router's log that say why calls failed. */
async function failedCalls(): Promise<string[]> {
  const logs = ['kubectl', 'logs', 'deployment/tools-gateway', '--namespace', space.name]
  return (await portolan.cluster.run(logs)).split('\n').filter(line => line.includes('"fault"'))
}

/** Calls until the server has had WAKES pods. The pauses differ, so that some calls come while a pod ends. */
async function cycle(name: string, at: number): Promise<number> {
  const pods = new Set<string>()
  let calls = 0
  while (pods.size < WAKES) {
    const text = `${name} ${calls++}`
    assert.equal(await caller.call(`${name}:echo`, { text }), text)
    for (const pod of await space.pods(name)) pods.add(pod.metadata.uid ?? '')
    await pause(PAUSES_MS.least + ((calls * 733 + at * 1_237) % PAUSES_MS.spread))
  }
  return calls
}
