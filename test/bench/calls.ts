/** execute_mcp_tool against a bare pass-through to the same upstream, in one run. */
import { MCP_HEADERS, requestBody } from '../support/mcp.ts'
import { type LoadResult, load, type Target } from './load.ts'
import { type BenchRow, quantile } from './row.ts'

const SECONDS = 4
const ROUNDS = 3

export type CallTargets = {
  direct: Target
  passthrough: Target
  gateway: Target
  /** The gateway's way to the same upstream with room for all connections at once. */
  wide: Target
}

/** Alternates yardstick and gateway so that a noisy machine disturbs both; compares medians. */
export async function benchCalls({ direct, passthrough, gateway, wide }: CallTargets): Promise<BenchRow[]> {
  const rows: BenchRow[] = []
  for (const target of [direct, passthrough, gateway]) await load(target, 16, 2)
  const rounds = [
    { connections: 1, gateway, note: '' },
    { connections: 16, gateway, note: '' },
    { connections: 64, gateway: wide, note: ', limits.concurrency 64' },
    { connections: 64, gateway, note: ', 16 at a time as by default' },
  ]
  for (const { connections, gateway, note } of rounds) {
    const runs: { direct: LoadResult[]; passthrough: LoadResult[]; gateway: LoadResult[] } = {
      direct: [],
      passthrough: [],
      gateway: [],
    }
    for (let round = 0; round < ROUNDS; round++) {
      runs.direct.push(await load(direct, connections, SECONDS / 2))
      runs.passthrough.push(await load(passthrough, connections, SECONDS))
      runs.gateway.push(await load(gateway, connections, SECONDS))
    }
    rows.push(
      ...compare(connections, note, median(runs.direct), median(runs.passthrough), median(runs.gateway)),
    )
  }
  return rows
}

function compare(
  connections: number,
  note: string,
  direct: LoadResult,
  bare: LoadResult,
  gateway: LoadResult,
): BenchRow[] {
  const share = gateway.callsPerSecond / bare.callsPerSecond
  const figures = `${percent(share)}: ${perSecond(gateway)} against ${perSecond(bare)} (direct ${perSecond(direct)})`
  const rows: BenchRow[] = [
    {
      what: `execute_mcp_tool against a bare pass-through, ${connections} connections${note}`,
      aim: '≥ 70 % of its throughput, ≤ 130 µs CPU a call',
      measured: `${figures}; ${gateway.cpuMicros.toFixed(0)} µs CPU against ${bare.cpuMicros.toFixed(0)}; ${gateway.failed} failed`,
      ok: share >= 0.7 && gateway.cpuMicros <= 130 && gateway.failed === 0,
    },
  ]
  if (connections !== 16) return rows
  const p50 = gateway.p50 - bare.p50
  const p99 = gateway.p99 - bare.p99
  return [
    ...rows,
    {
      what: 'added latency at 16 connections',
      aim: 'p50 ≤ 1 ms, p99 ≤ 5 ms',
      measured: `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`,
      ok: p50 <= 1 && p99 <= 5,
    },
  ]
}

function median(results: LoadResult[]): LoadResult {
  const of = (key: keyof LoadResult) =>
    quantile(
      results.map(result => result[key]),
      0.5,
    )
  return {
    callsPerSecond: of('callsPerSecond'),
    p50: of('p50'),
    p99: of('p99'),
    cpuMicros: of('cpuMicros'),
    failed: Math.max(...results.map(result => result.failed)),
  }
}

const percent = (share: number) => `${(share * 100).toFixed(0)} %`
const perSecond = (result: LoadResult) => `${Math.round(result.callsPerSecond).toLocaleString('en')}/s`

export function target(url: string, pid: number, params: object): Target {
  return { url, pid, body: requestBody('tools/call', params), headers: MCP_HEADERS }
}
