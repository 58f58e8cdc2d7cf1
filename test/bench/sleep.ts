/** Benchmarks of servers that sleep, on a real cluster: the first call to such a server, and what a hundred of them cost the operator. */
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { V1Pod } from '@kubernetes/client-node'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import type { McpServerSpecInput } from '../../crds/server.ts'
import { type Caller, callerOf } from '../e2e/support/caller.ts'
import { fixture, gateway, gatewayOver, server } from '../e2e/support/manifests.ts'
import type { Namespace } from '../e2e/support/namespace.ts'
import { type Portolan, startPortolan } from '../e2e/support/portolan.ts'
import { provideVolumes } from '../e2e/support/volumes.ts'
import { until } from '../support/until.ts'
import { metricOf, type Page, pagesOf } from './cluster-pages.ts'
import { type BenchRow, quantile, table } from './row.ts'

const WAKES = Number(process.env.BENCH_WAKES ?? 5)
const SLEEPERS = Number(process.env.BENCH_SLEEPERS ?? 100)
const AWAKE = 5
/** Each new server runs once, so that its lists are read; the node has room for this many of them. */
const APPLIED_AT_ONCE = 10
const AT_REST_MS = Number(process.env.BENCH_REST_MS ?? 60_000)
const SETTLED_MS = 20_000
const OPERATOR_PORT = 8_080
const POLL_MS = 20
const LIMIT_MS = 900_000
const limits = { startTimeout: '3m' }

const say = (line: string) => void process.stderr.write(`${line}\n`)

/** Has the same requirements as the cluster tests: check `skipCluster()` first. */
export async function benchSleep(): Promise<BenchRow[]> {
  const portolan = await startPortolan({ say })
  const ends: (() => Promise<void>)[] = []
  try {
    await provideVolumes(portolan, 1, { after: end => void ends.push(end) })
    const rows = await benchWakes(portolan)
    say(table(rows))
    return [...rows, ...(await benchSleepers(portolan))]
  } finally {
    for (const end of ends) await end()
    await portolan.stop()
  }
}

async function benchWakes(portolan: Portolan): Promise<BenchRow[]> {
  const space = await portolan.namespace('waking')
  const scaling = { min: 0, idleAfter: '1s' }
  const npm = {
    package: '@modelcontextprotocol/server-everything',
    version: '2026.8.31',
    args: ['stdio'],
  }
  await space.apply(
    server('image', { ...fixture(), scaling, limits }),
    server('npm', { npm, scaling, limits }),
    server('stored', { npm, scaling, limits, storage: { size: '1Gi' } }),
    gateway('tools', { router: { replicas: 1 } }),
  )
  await space.untilServing('tools', { ready: 3 })
  const caller = await callerOf(portolan.cluster, space.name, 'tools')
  try {
    return [
      await benchWake(portolan, space, caller, {
        name: 'image',
        tool: 'echo',
        args: { text: 'x' },
        aimSeconds: 1,
      }),
      await benchWake(portolan, space, caller, { name: 'stored', ...EVERYTHING, aimSeconds: 1.5 }),
      await benchWake(portolan, space, caller, { name: 'npm', ...EVERYTHING }),
    ]
  } finally {
    caller.stop()
  }
}

const EVERYTHING = { tool: 'echo', args: { message: 'x' } }
const KINDS = {
  image: 'an image',
  stored: 'an npm package with storage',
  npm: 'an npm package without storage',
}

type WakeCase = { name: keyof typeof KINDS; tool: string; args: object; aimSeconds?: number }

/** Compares the first call with the start of a separate pod of the same spec, which needs no router or operator; both alternate. */
async function benchWake(
  portolan: Portolan,
  space: Namespace,
  caller: Caller,
  { name, tool, args, aimSeconds }: WakeCase,
): Promise<BenchRow> {
  say(`waking ${KINDS[name]}`)
  const called: number[] = []
  const alone: number[] = []
  for (let count = 0; count < WAKES; count++) {
    await asleep(space, name)
    called.push(await timed(() => caller.call(`${name}:${tool}`, args)))
    const [pod] = await space.pods(name)
    await asleep(space, name)
    if (pod) alone.push(await startAlone(portolan, space, pod, count))
  }
  const [first, start] = [quantile(called, 0.5), quantile(alone, 0.5)]
  const more = first - start
  return {
    what: `first call to a server that sleeps, ${KINDS[name]}: to its answer, against the start of the same pod alone`,
    aim: aimSeconds === undefined ? 'no target' : `≤ + ${aimSeconds} s`,
    measured: `${more < 0 ? '−' : '+'} ${Math.abs(more).toFixed(1)} s (p50 ${first.toFixed(1)} s against ${start.toFixed(1)} s, of ${WAKES})`,
    ok: aimSeconds === undefined || more <= aimSeconds,
  }
}

async function asleep(space: Namespace, name: string): Promise<void> {
  await space.untilSaid(name, 'Ready', 'Asleep', LIMIT_MS)
  await until(`no pod of ${name} is left`, async () => (await space.pods(name)).length === 0, LIMIT_MS)
}

/** Seconds from the creation of a pod until it is ready. The Service of the server does not select it. */
async function startAlone(
  { client }: Portolan,
  space: Namespace,
  { spec = {} as never }: Kube<V1Pod>,
  count: number,
): Promise<number> {
  const { nodeName: _, affinity: __, ...own } = spec
  const metadata = { name: `alone-${count}`, namespace: space.name }
  const ref = { apiVersion: 'v1', kind: 'Pod', ...metadata }
  const object = { apiVersion: 'v1', kind: 'Pod', metadata, spec: own } as KubeObject
  const isReady = async () => {
    const conditions = (await client.get<Kube<V1Pod>>(ref))?.status?.conditions ?? []
    return conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
  }
  const seconds = await timed(async () => {
    await client.create(object)
    while (!(await isReady())) await sleep(POLL_MS)
  })
  await client.delete(ref)
  await until(`${metadata.name} is gone`, async () => (await client.get(ref)) === undefined, LIMIT_MS)
  return seconds
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await act()
  return (performance.now() - began) / 1_000
}

type Rest = { megabytes: number; cpuMs: number; writes: number }

/** Compares the operator with a few servers that are awake, and with many more that sleep. */
async function benchSleepers(portolan: Portolan): Promise<BenchRow[]> {
  const space = await portolan.namespace('sleepers')
  const names = (prefix: string, count: number) => Array.from({ length: count }, (_, at) => `${prefix}-${at}`)
  const apply = (list: string[], spec: McpServerSpecInput) =>
    space.apply(...list.map(name => server(name, { ...spec, limits }, { bench: 'sleep' })))
  await apply(names('awake', AWAKE), fixture())
  await space.apply(gatewayOver('tools', { bench: 'sleep' }))
  await space.untilServing('tools', { ready: AWAKE })
  const alone = await atRest(portolan)
  say(`${SLEEPERS} sleeping servers`)
  const sleepers = names('sleeper', SLEEPERS)
  for (let at = 0; at < SLEEPERS; at += APPLIED_AT_ONCE) {
    const batch = sleepers.slice(at, at + APPLIED_AT_ONCE)
    await apply(batch, { ...fixture(), scaling: { min: 0, idleAfter: '1s' } })
    await Promise.all(batch.map(name => asleep(space, name)))
  }
  await space.untilServing('tools', { ready: AWAKE + SLEEPERS })
  const together = await atRest(portolan)
  const ratio = (one: number, other: number) => one / other - 1
  const percent = (share: number) => `${share < 0 ? '−' : '+'} ${Math.abs(share * 100).toFixed(0)} %`
  const [memory, cpu] = [ratio(together.megabytes, alone.megabytes), ratio(together.cpuMs, alone.cpuMs)]
  const what = `the operator with ${SLEEPERS} sleeping servers and ${AWAKE} awake, at rest, against ${AWAKE} alone`
  return [
    {
      what: `memory of ${what}`,
      aim: '≤ + 10 %',
      measured: `${percent(memory)} (${alone.megabytes} MB, then ${together.megabytes} MB, its two pods together)`,
      ok: memory <= 0.1,
    },
    {
      what: `CPU of ${what}`,
      aim: '≤ + 10 %',
      measured: `${percent(cpu)} (${alone.cpuMs} ms a minute, then ${together.cpuMs} ms, its two pods together)`,
      ok: cpu <= 0.1,
    },
    {
      what: `API writes with ${SLEEPERS} sleeping servers and ${AWAKE} awake, in ${AT_REST_MS / 1_000} s`,
      aim: '0',
      measured: String(together.writes),
      ok: together.writes === 0,
    },
  ]
}

/** Memory, CPU time and writes of all pods of the operator together while nothing changes. */
async function atRest(portolan: Portolan): Promise<Rest> {
  const pages = await pagesOf(portolan, portolan.system, 'portolan', OPERATOR_PORT)
  await until('all is encoded', async () => (await sum(pages, 'portolan_vectors_pending')) === 0, LIMIT_MS)
  await sleep(SETTLED_MS)
  const read = async () => ({
    cpu: await sum(pages, 'process_cpu_seconds_total'),
    writes: await sum(pages, 'portolan_api_writes_total'),
  })
  const before = await read()
  await sleep(AT_REST_MS)
  const after = await read()
  const megabytes = Math.round((await sum(pages, 'process_resident_memory_bytes')) / 1e6)
  for (const page of pages) page.stop()
  const minutes = AT_REST_MS / 60_000
  return {
    megabytes,
    cpuMs: Math.round(((after.cpu - before.cpu) * 1_000) / minutes),
    writes: after.writes - before.writes,
  }
}

async function sum(pages: Page[], metric: string): Promise<number> {
  const texts = await Promise.all(pages.map(page => page.get('/metrics')))
  return texts.reduce((all, text) => all + metricOf(text, metric), 0)
}
