/** Compares the router with other ways to the same upstream, in one run: direct, a minimal proxy, gateways made with the SDKs, fastmcp. */
import { type Running, startScript } from '../../support/processes.ts'
import type { LoadResult } from '../load.ts'
import type { BenchRow } from '../row.ts'
import { startFastmcp, startPeer } from './peers.ts'
import { loadInTurn, type Named } from './rounds.ts'
import { assertEchoes, META_TOOL, NARROW, SERVERS, throughPeer, throughRouter } from './targets.ts'

const CONNECTIONS = [1, 16, 64]
/** By the number of connections: the share of the minimal proxy's throughput that the router should reach. */
const AIMS = new Map([
  [1, 0.88],
  [16, 0.88],
  [64, 0.82],
])
const ROUNDS = 3
const SECONDS = 2
const WARM_UP = { connections: 16, rounds: 1, seconds: 5 }
const SLOW_WARM_UP_SECONDS = 1
/** For gateways that are slower by orders of magnitude, one round is precise enough, but must be longer than their calls. */
const SLOW_ROUNDS = 1
const SLOW_SECONDS = 10

const DIRECT = 'direct'
const BARE = 'minimal proxy'

export type Compared = {
  origin: string
  pid: number
  /** Adds a server to the gateway, and waits until search finds its tool. */
  add(server: string, url: string, limits: object | undefined): Promise<void>
}

export async function benchCompare(gateway: Compared): Promise<{ rows: BenchRow[]; section: string }> {
  await using running = new AsyncDisposableStack()
  const use = <Process extends Running>(process: Process): Process => {
    running.defer(() => process.stop())
    return process
  }
  const echo = use(await startScript<{ port: number }>(['test/bench/compare/echo.ts']))
  const upstream = (path: string) => `http://127.0.0.1:${echo.ready.port}/${path}`
  for (const [name, { path, limits }] of Object.entries(SERVERS))
    await gateway.add(name, upstream(path), limits)
  const url = upstream('legacy/mcp')
  const bare = use(await startPeer(BARE, '../passthrough.ts', url))
  const quick = [
    throughPeer({ name: DIRECT, url, pid: echo.pid }),
    throughPeer(bare),
    ...(await throughRouter(gateway.origin, gateway.pid)),
  ]
  const slow = [
    throughPeer(use(await startPeer('gateway of SDK 1.x', 'sdk1-gateway.ts', url))),
    throughPeer(use(await startPeer('gateway of SDK 2.x', 'sdk2-gateway.ts', url))),
  ]
  const fastmcp = await startFastmcp(url)
  if (fastmcp) slow.push(throughPeer(use(fastmcp)))
  const measured = await measure(quick, slow)
  return { rows: aims(measured), section: sectionOf([...quick, ...slow], measured) }
}

/** Results by the number of connections, then by the target's name. */
type Measured = Map<number, Map<string, LoadResult>>

async function measure(quick: Named[], slow: Named[]): Promise<Measured> {
  for (const target of [...quick, ...slow]) await assertEchoes(target)
  await loadInTurn(quick, WARM_UP)
  await loadInTurn(slow, { ...WARM_UP, seconds: SLOW_WARM_UP_SECONDS })
  const measured: Measured = new Map()
  for (const connections of CONNECTIONS) {
    process.stderr.write(`calls at ${connections} connections\n`)
    const results = await loadInTurn(quick, { connections, rounds: ROUNDS, seconds: SECONDS })
    const slower = await loadInTurn(slow, { connections, rounds: SLOW_ROUNDS, seconds: SLOW_SECONDS })
    measured.set(connections, new Map([...results, ...slower]))
  }
  return measured
}

function aims(measured: Measured): BenchRow[] {
  return CONNECTIONS.flatMap(connections => {
    const results = measured.get(connections)
    const [direct, bare] = [results?.get(DIRECT), results?.get(BARE)]
    const plural = connections === 1 ? '' : 's'
    const names = connections > 16 ? [META_TOOL, NARROW] : [META_TOOL]
    return names.flatMap(name => {
      const router = results?.get(name)
      if (!direct || !bare || !router) return []
      const rows = [
        shareRow(`${name}, ${connections} connection${plural}`, AIMS.get(connections) ?? 1, router, bare),
      ]
      if (connections === 16) rows.push(latencyRow(router, direct))
      return rows
    })
  })
}

function shareRow(what: string, aim: number, router: LoadResult, bare: LoadResult): BenchRow {
  const share = router.callsPerSecond / bare.callsPerSecond
  return {
    what: `${what}, compared with a minimal proxy`,
    aim: `≥ ${percent(aim)} of its throughput, ≤ 120 µs CPU a call`,
    measured: `${percent(share)}: ${perSecond(router)}, proxy ${perSecond(bare)}; ${micros(router)} CPU, proxy ${micros(bare)}; ${router.failed} failed`,
    ok: share >= aim && router.cpuMicros <= 120 && router.failed === 0,
  }
}

function latencyRow(router: LoadResult, direct: LoadResult): BenchRow {
  const p50 = router.p50 - direct.p50
  const p99 = router.p99 - direct.p99
  return {
    what: 'latency that the router adds at 16 connections, at maximum load',
    aim: 'p50 ≤ 1 ms, p99 ≤ 5 ms',
    measured: `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`,
    ok: p50 <= 1 && p99 <= 5,
  }
}

function sectionOf(targets: readonly Named[], measured: Measured): string {
  const cell = (connections: number, name: string) => {
    const results = measured.get(connections)
    const [bare, result] = [results?.get(BARE), results?.get(name)]
    if (!bare || !result) return ''
    const share = name === DIRECT ? '' : ` (${percent(result.callsPerSecond / bare.callsPerSecond)})`
    const failed = result.failed > 0 ? ` · ${result.failed} failed` : ''
    return `${perSecond(result)}${share} · ${micros(result)} · ${result.p50.toFixed(2)} / ${result.p99.toFixed(2)} ms${failed}`
  }
  const lines = targets.map(
    ({ name }) => `| ${name} | ${CONNECTIONS.map(count => cell(count, name)).join(' | ')} |`,
  )
  return `## Ways to one upstream

Calls of an echo tool, by each way in turn, in rounds; load generator, gateway and upstream share the cores. Each cell: calls per second (in brackets
as a share of the minimal proxy's, which uses fastify and undici's \`dispatch\`) · CPU time of the gateway's process per call · p50 / p99.

| | ${CONNECTIONS.map(count => `${count} connection${count > 1 ? 's' : ''}`).join(' | ')} |
|---|---|---|---|
${lines.join('\n')}
`
}

const percent = (share: number) => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`
const perSecond = (result: LoadResult) => `${Math.round(result.callsPerSecond).toLocaleString('en')}/s`
const micros = (result: LoadResult) => `${result.cpuMicros.toFixed(0)} µs`
