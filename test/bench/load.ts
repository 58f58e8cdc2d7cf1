/** Loads one URL and measures throughput, latency, and the server's CPU time per call. */
import { readFileSync } from 'node:fs'
import autocannon from 'autocannon'
import { MCP_HEADERS, requestBody } from '../support/mcp.ts'
import { quantile } from './row.ts'

export type LoadResult = {
  callsPerSecond: number
  /** Milliseconds. */
  p50: number
  p99: number
  /** CPU time (user and system) of the server per call, in microseconds. */
  cpuMicros: number
  failed: number
}

export type Target = { url: string; body: string; headers?: Record<string, string>; pid: number }

const CLOCK_TICKS_PER_SECOND = 100

/** `calls`: ends after so many calls instead. */
export async function load(
  target: Target,
  connections: number,
  seconds: number,
  calls?: number,
): Promise<LoadResult> {
  const before = cpuSeconds(target.pid)
  const times: number[] = []
  const options: autocannon.Options = {
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
    amount: calls,
  }
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    const instance = autocannon(options, (error, result) => (error ? reject(error) : resolve(result)))
    // autocannon's own histogram has a resolution of 1 ms.
    instance.on('response', (_client, _status, _bytes, milliseconds) => times.push(milliseconds))
  })
  const answered = result.requests.total
  return {
    callsPerSecond: answered / result.duration,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    cpuMicros: ((cpuSeconds(target.pid) - before) * 1e6) / answered,
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

/** A tool call of a 2025 client without a session. */
export function target(url: string, pid: number, params: object): Target {
  return { url, pid, body: requestBody('tools/call', params), headers: MCP_HEADERS }
}
