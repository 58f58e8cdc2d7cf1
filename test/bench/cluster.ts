/** Benchmarks on a real cluster: time from `kubectl apply` to tools, propagation to all replicas, a thousand servers, memory. */
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { underLoad } from '../e2e/support/load.ts'
import { FIXTURES, fixture, gateway, gatewayOver, server } from '../e2e/support/manifests.ts'
import type { Namespace } from '../e2e/support/namespace.ts'
import { type Portolan, startPortolan } from '../e2e/support/portolan.ts'
import { callTool } from '../support/mcp.ts'
import { until } from '../support/until.ts'
import { defaultCatalogs } from '../upstreams/replay/catalogs.ts'
import { bridgeMegabytes, metricOf, type Page, pagesOf } from './cluster-pages.ts'
import { type BenchRow, quantile, table } from './row.ts'

const APPLIES = 12
const CHANGES = 20
const RELOAD_SPACING_MS = 3_000
const MANY = Number(process.env.BENCH_SERVERS ?? 1_000)
const MANY_LIMIT_MS = 900_000
/** Thousands of texts, at about 25 ms each. */
const ENCODING_LIMIT_MS = 1_800_000
const PENDING = 'portolan_vectors_pending'
const AT_REST_MS = 30_000
const CONCURRENT_APPLIES = 20
const OPERATOR_PORT = 8_080
const POLL_MS = 20

const say = (line: string) => void process.stderr.write(`${line}\n`)

/** Has the same requirements as the cluster tests: check `skipCluster()` first. */
export async function benchCluster(): Promise<BenchRow[]> {
  const portolan = await startPortolan({ say })
  try {
    const space = await portolan.namespace('bench')
    await space.apply(
      server('base', fixture(), { bench: 'small' }),
      gatewayOver('tools', { bench: 'small' }, 2),
    )
    await space.untilServing('tools', { ready: 1 })
    const rows = [
      await benchApply(portolan, space),
      ...(await benchReloads(portolan, space)),
      await benchBridgeMemory(portolan, space),
    ]
    say(table(rows))
    return [...rows, ...(await benchMany(portolan))]
  } finally {
    await portolan.stop()
  }
}

async function benchApply({ cluster }: Portolan, space: Namespace): Promise<BenchRow> {
  say('apply → tools found')
  const { port, stop } = await cluster.forward({ namespace: space.name, name: 'tools-gateway', port: 80 })
  const seconds: number[] = []
  for (let count = 0; count < APPLIES; count++) {
    const name = `new-${count}`
    const started = performance.now()
    await space.apply(server(name, fixture(), { bench: 'small' }))
    await untilCallable(`http://127.0.0.1:${port}/mcp`, `${name}:echo`)
    seconds.push((performance.now() - started) / 1_000)
    await space.delete(server(name, fixture()))
  }
  stop()
  const [p50, p95] = [quantile(seconds, 0.5), quantile(seconds, 0.95)]
  const measured = `p50 ${p50.toFixed(1)} s, p95 ${p95.toFixed(1)} s`
  return {
    what: 'from applying a server to finding its tools, with the image present',
    aim: 'p50 ≤ 5 s',
    measured,
    ok: p50 <= 5,
  }
}

/** Waits until the tool can be called. */
async function untilCallable(url: string, toolPath: string): Promise<void> {
  await until(`${toolPath} is found`, async () => {
    const answer = await callTool(url, 'execute_mcp_tool', { tool_path: toolPath, arguments: { text: 'x' } })
    return !answer.isError
  })
}

/** Changes a server's description repeatedly, under load, and measures the time from the feed's change to the last replica. */
async function benchReloads(portolan: Portolan, space: Namespace): Promise<BenchRow[]> {
  say('reloads under load')
  const pages = await pagesOf(portolan, space, 'tools')
  const milliseconds: number[] = []
  const outcome = await underLoad(
    portolan,
    space,
    { gateway: 'tools', toolPath: 'base:echo' },
    {
      async strike() {
        for (let count = 0; count < CHANGES; count++) {
          const next = sleep(RELOAD_SPACING_MS)
          milliseconds.push(await reload(portolan, space, pages, `Change ${count}`))
          await next
        }
      },
      recovered: async () => {},
    },
  )
  const router = Math.max(...(await Promise.all(pages.map(memoryOf))))
  for (const page of pages) page.stop()
  const p95 = quantile(milliseconds, 0.95)
  const failed = outcome.calls - outcome.right
  return [
    {
      what: 'from a change of the feed until every replica serves it',
      aim: 'p95 ≤ 1 s',
      measured: `p50 ${quantile(milliseconds, 0.5).toFixed(0)} ms, p95 ${p95.toFixed(0)} ms`,
      ok: p95 <= 1_000,
    },
    {
      what: '20 reloads a minute under 20 calls a second',
      aim: 'no failed call',
      measured: `${failed} of ${outcome.calls} failed, p99 ${outcome.p99Ms} ms`,
      ok: failed === 0,
    },
    {
      what: 'resident memory of the router after the reloads',
      aim: '≤ 150 MB',
      measured: `${router} MB`,
      ok: router <= 150,
    },
  ]
}

async function reload(
  { client }: Portolan,
  space: Namespace,
  pages: Page[],
  description: string,
): Promise<number> {
  const feed = { apiVersion: 'v1', kind: 'ConfigMap', namespace: space.name, name: 'tools-router' }
  const generation = async () => Number((await client.get(feed))?.metadata.resourceVersion)
  const before = await generation()
  await space.apply(server('base', { ...fixture(), description }, { bench: 'small' }))
  let now = before
  while (now === before) now = await generation()
  const written = performance.now()
  await Promise.all(
    pages.map(async page => {
      while (Number((JSON.parse(await page.get('/status')) as { generation: number }).generation) < now)
        await sleep(POLL_MS)
    }),
  )
  return performance.now() - written
}

async function benchBridgeMemory({ cluster }: Portolan, space: Namespace): Promise<BenchRow> {
  const [pod] = await space.pods('base')
  const megabytes = pod ? bridgeMegabytes(cluster.name, pod) : Number.NaN
  return {
    what: 'resident memory of the bridge',
    aim: '≤ 60 MB',
    measured: `${megabytes} MB`,
    ok: megabytes <= 60,
  }
}

/** Many remote servers behind one gateway; one replay upstream in the cluster answers for all of them. */
async function benchMany(portolan: Portolan): Promise<BenchRow[]> {
  say(`${MANY} servers`)
  const space = await portolan.namespace('many')
  const catalogs = defaultCatalogs().map(({ name }) => name)
  const http = { name: FIXTURES, args: ['replay', '3000'], transport: 'http', port: 3_000 } as const
  await space.apply(
    server('replay', { image: { ...http, args: [...http.args], path: `/${catalogs[0]}/mcp` } }),
  )
  await space.untilReady('replay')
  const started = performance.now()
  const manifests = Array.from({ length: MANY }, (_, count) => {
    const url = `http://mcp-replay.many.svc/${catalogs[count % catalogs.length]}/mcp`
    return server(`server-${count}`, { remote: { url } }, { bench: 'many' })
  })
  for (let at = 0; at < MANY; at += CONCURRENT_APPLIES)
    await Promise.all(manifests.slice(at, at + CONCURRENT_APPLIES).map(manifest => space.apply(manifest)))
  const applied = performance.now()
  const servers = { selector: { matchLabels: { bench: 'many' } } }
  await space.apply(
    gateway('tools', { servers, router: { replicas: 1, resources: { limits: { memory: '2Gi' } } } }),
  )
  await until(
    'all are ready and served',
    async () => {
      const { status } = (await space.gateway('tools')) ?? {}
      const current = status?.routers?.every(({ generation }) => generation === status.generation)
      return current && status?.servers?.ready === MANY && status
    },
    MANY_LIMIT_MS,
  )
  const steady = performance.now()
  const { status } = (await space.gateway('tools')) ?? {}
  const time = `${seconds(steady - started)}, of which the manifests took ${seconds(applied - started)}; ${status?.tools} tools`
  const [router] = await pagesOf(portolan, space, 'tools')
  const routerMegabytes = router ? await memoryOf(router) : Number.NaN
  router?.stop()
  return [
    { what: `${MANY} servers, from apply to steady state`, aim: 'no target', measured: time, ok: true },
    {
      what: `resident memory of the router with ${MANY} servers`,
      aim: 'no target',
      measured: `${routerMegabytes} MB`,
      ok: true,
    },
    ...(await benchAtRest(portolan)),
  ]
}

async function benchAtRest(portolan: Portolan): Promise<BenchRow[]> {
  const operators = await pagesOf(portolan, portolan.system, 'portolan', OPERATOR_PORT)
  const begun = performance.now()
  await until('all is encoded', async () => (await sumOf(operators, PENDING)) === 0, ENCODING_LIMIT_MS)
  const encodedMs = performance.now() - begun
  await sleep(AT_REST_MS)
  const before = await writesOf(operators)
  await sleep(AT_REST_MS)
  const written = (await writesOf(operators)) - before
  const megabytes = Math.max(...(await Promise.all(operators.map(memoryOf))))
  for (const operator of operators) operator.stop()
  const what = `resident memory of the operator with ${MANY} servers`
  const encoding = `encoding all tools, after ${MANY} servers are served`
  return [
    { what: encoding, aim: 'no target', measured: `${seconds(encodedMs)} more`, ok: true },
    { what, aim: '≤ 300 MB', measured: `${megabytes} MB`, ok: megabytes <= 300 },
    {
      what: `API writes in ${seconds(AT_REST_MS)} without changes`,
      aim: '0',
      measured: String(written),
      ok: written === 0,
    },
  ]
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1_000).toFixed(0)} s`
}

async function memoryOf(page: Page): Promise<number> {
  return Math.round(metricOf(await page.get('/metrics'), 'process_resident_memory_bytes') / 1e6)
}

function writesOf(pages: Page[]): Promise<number> {
  return sumOf(pages, 'portolan_api_writes_total')
}

async function sumOf(pages: Page[], metric: string): Promise<number> {
  const texts = await Promise.all(pages.map(page => page.get('/metrics')))
  return texts.reduce((sum, text) => sum + metricOf(text, metric), 0)
}
