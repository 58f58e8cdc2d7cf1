/** One load on one URL, with what it cost the server: throughput, latency and the server's own CPU time a call. */
import { readFileSync } from 'node:fs'
import autocannon from 'autocannon'

export type LoadResult = {
  callsPerSecond: number
  /** Milliseconds. */
  p50: number
  p99: number
  /** Microseconds of the server's CPU time, user and system, a call. */
  cpuMicros: number
  failed: number
}

export type Target = { url: string; body: string; headers?: Record<string, string>; pid: number }

const CLOCK_TICKS_PER_SECOND = 100

export async function load(target: Target, connections: number, seconds: number): Promise<LoadResult> {
  const before = cpuSeconds(target.pid)
  const result = await autocannon({
    url: target.url,
    method: 'POST',
    body: target.body,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...target.headers,
    },
    connections,
    duration: seconds,
  })
  const calls = result.requests.total
  return {
    callsPerSecond: calls / result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
    cpuMicros: ((cpuSeconds(target.pid) - before) * 1e6) / calls,
    failed: result.non2xx + result.errors + result.timeouts,
  }
}

/** CPU time of a process since its start, from /proc: user and system ticks are fields 14 and 15 (proc(5)). */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND
}

/** Resident memory of a process in MB. */
export function residentMegabytes(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Number(line?.[1] ?? 0) / 1024
}
