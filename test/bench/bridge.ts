/** Measures the bundled bridge with a stdio server: throughput, added latency, memory. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { systemClock } from '../../core/async.ts'
import { createStdioUpstream } from '../../core/mcp/client/stdio/stdio-upstream.ts'
import { bundleFile } from '../../scripts/bundle.ts'
import { callOf } from '../support/call.ts'
import { freePort } from '../support/free-port.ts'
import { request } from '../support/mcp.ts'
import { readOwn } from '../upstreams/replay/catalogs.ts'
import { load, residentMegabytes, target } from './load.ts'
import { type BenchRow, quantile } from './row.ts'

const root = join(import.meta.dirname, '..', '..')
const SECONDS = 4
const SERIAL_CALLS = 2_000

/** The bundle is written to `folder`. */
export async function benchBridge(folder: string): Promise<BenchRow[]> {
  const [catalog] = readOwn()
  const tool = catalog?.tools[0]
  if (!catalog || !tool) throw new Error('no catalog to replay')
  const params = { name: tool.name, arguments: { text: 'hello' } }
  const server = [join(root, 'test', 'upstreams', 'replay', 'stdio.ts'), `own:${catalog.name}`]
  const program = join(folder, 'bridge.cjs')
  await bundleFile(join(root, 'bridge', 'main.ts'), program)
  const port = await freePort()
  const options = ['--port', `${port}`, '--host', '127.0.0.1', '--', process.execPath, ...server]
  const flags = ['--no-allocation-site-pretenuring', '--max-semi-space-size=1']
  const bridge = spawn(process.execPath, [...flags, program, ...options], { stdio: 'ignore' })
  try {
    const origin = `http://127.0.0.1:${port}`
    while (!(await fetch(`${origin}/readyz`).catch(() => undefined))?.ok) {
      if (bridge.exitCode !== null) throw new Error('the bridge ended before it was ready')
      await pause()
    }
    const pid = bridge.pid ?? 0
    const idle = residentMegabytes(pid)
    const url = `${origin}/mcp`
    const added =
      (await serial(() => request(url, 'tools/call', params))) - (await serialDirect(server, params))
    await load(target(url, pid, params), 16, 1)
    const loaded = await load(target(url, pid, params), 16, SECONDS)
    return [
      {
        what: 'bridge with a stdio server, calls at 16 connections',
        aim: '≥ 5,000 calls/s',
        measured: `${loaded.callsPerSecond.toFixed(0)}/s, p50 ${loaded.p50} ms, p99 ${loaded.p99} ms, ${loaded.cpuMicros.toFixed(0)} µs CPU; ${loaded.failed} failed`,
        ok: loaded.callsPerSecond >= 5_000 && loaded.failed === 0,
      },
      {
        what: 'latency that the bridge adds, compared with calls over stdio, median',
        aim: '≤ 1 ms, including the HTTP client',
        measured: `${added.toFixed(2)} ms`,
        ok: added <= 1,
      },
      {
        what: 'memory of the bridge with an idle server, and after the calls',
        aim: '≤ 60 MB idle',
        measured: `${idle.toFixed(0)} MB, ${residentMegabytes(pid).toFixed(0)} MB`,
        ok: idle <= 60,
      },
    ]
  } finally {
    bridge.kill()
  }
}

/** The median duration of serial calls, in milliseconds. */
async function serial(call: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let count = 0; count < SERIAL_CALLS; count++) {
    const started = performance.now()
    await call()
    times.push(performance.now() - started)
  }
  return quantile(times, 0.5)
}

async function serialDirect(server: string[], params: Record<string, unknown>): Promise<number> {
  const upstream = createStdioUpstream(
    {
      command: process.execPath,
      args: server,
      env: {},
      sessions: 'shared',
      startTimeoutMs: 60_000,
      idleAfterMs: 60_000,
      min: 0,
    },
    { clock: systemClock },
  )
  const { signal } = new AbortController()
  const call = { method: 'tools/call', params: JSON.parse(JSON.stringify(params)), maxBytes: 1_000_000 }
  try {
    return await serial(() => upstream.request(callOf(call), signal))
  } finally {
    await upstream.close()
  }
}

function pause(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, 10))
}
