/** Measures scripts in gateway processes: their cost, the time that they save, their effect on other calls, and the memory that they take and release. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '../../core/json.ts'
import { freePort } from '../support/free-port.ts'
import { callTool, requestBody } from '../support/mcp.ts'
import { type Gateway, startGateway, startScript } from '../support/processes.ts'
import { openHeap } from './heap.ts'
import { cpuSeconds, residentMegabytes } from './load.ts'
import { pacedLoad } from './paced.ts'
import { type BenchRow, quantile } from './row.ts'

const CALLS = 50
/** How long the upstream takes to answer. */
const ANSWER_MS = 5
const COLD_ROUNDS = 4
const IDLE_SAMPLES = 10
const ROUNDS = 15
const WARM_ROUNDS = 200
const OTHERS_PER_SECOND = 50
const OTHERS_SECONDS = 3
const OTHERS_ROUNDS = 5
const SCRIPTS = 4
const BOMBS = 100
const EMPTY = 'return 1'
/** Takes so much memory that its thread is not reused. */
const ENDS_THREAD = 'const a = []; for (let n = 0; n < 200; n++) a.push(new Uint8Array(1e5)); return a.length'
const BOMB = 'const a = []; for (;;) a.push("x".repeat(1e5) + a.length)'
const SPIN = 'for (;;);'
/** Takes most of its 32 MiB, then makes one call after the other. */
const LARGE =
  'const a = []; for (let n = 0; n < 250; n++) a.push(new Uint8Array(1e5).fill(1)); for (let n = 0; n < 90; n++) await tools.echo.echo({text: "a"}); await sleep(4000); return a.length'

export async function benchCode(): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-bench-code-'))
  await using running = new AsyncDisposableStack()
  running.defer(() => rmSync(folder, { recursive: true, force: true }))
  const echo = await startScript<{ port: number }>(['test/bench/compare/echo.ts', String(ANSWER_MS)])
  running.defer(() => echo.stop())
  const start = async (runsScripts: boolean, inspectPort?: number) => {
    const manifests = join(folder, runsScripts ? 'with' : 'without')
    writeManifests(manifests, runsScripts, `http://127.0.0.1:${echo.ready.port}/legacy/mcp`)
    const env = inspectPort === undefined ? {} : { NODE_OPTIONS: `--inspect-port=${inspectPort}` }
    const gateway = await startGateway([manifests], { cache: join(folder, 'cache'), env })
    await callOnce(gateway, 0)
    await quiet(gateway)
    return gateway
  }
  const rows = await coldRows(start)
  const inspectPort = await freePort()
  const gateway = await start(true, inspectPort)
  running.defer(() => gateway.stop())
  rows.push(await warmRow(gateway), await parallelRow(gateway), await othersRow(gateway))
  return [...rows, ...(await memoryRows(gateway, inspectPort))]
}

/** Measures the first script of each of several gateway processes, and then scripts on new threads, since the previous thread has ended. */
async function coldRows(start: (runsScripts: boolean) => Promise<Gateway>): Promise<BenchRow[]> {
  const first: Cost[] = []
  const cold: Cost[] = []
  const resident = { without: [] as number[], before: [] as number[], grown: [] as number[] }
  let threads = 0
  for (let round = 0; round < COLD_ROUNDS; round++) {
    const other = await start(false)
    resident.without.push(residentMegabytes(other.pid))
    const usual = threadsOf(other.pid)
    await other.stop()
    const gateway = await start(true)
    threads = Math.max(threads, threadsOf(gateway.pid) - usual)
    const before = residentMegabytes(gateway.pid)
    resident.before.push(before)
    first.push(await costOf(gateway, EMPTY))
    resident.grown.push(residentMegabytes(gateway.pid) - before)
    for (let again = 0; again < COLD_ROUNDS; again++) {
      await run(gateway, ENDS_THREAD)
      await quiet(gateway)
      cold.push(await costOf(gateway, EMPTY))
    }
    await gateway.stop()
  }
  const more = median(resident.before) - median(resident.without)
  return [
    costRow('an empty script on a new thread', 'p50 ≤ 60 ms', cold, 60),
    costRow('an empty script, the first of a gateway', 'no target', first, Number.POSITIVE_INFINITY),
    {
      what: 'memory of code mode before the first script',
      aim: '+ 0',
      measured: `${more < 0 ? '−' : '+'} ${Math.abs(more).toFixed(1)} MB, + ${threads} threads, of ${COLD_ROUNDS} gateways with it and as many without; + ${median(resident.grown).toFixed(0)} MB for the first script`,
      ok: more <= 2 && threads <= 0,
    },
  ]
}

type Cost = { ms: number; cpuMs: number }

async function costOf(gateway: Gateway, code: string): Promise<Cost> {
  const before = cpuSeconds(gateway.pid)
  const [ms = 0] = await timesOf(1, () => run(gateway, code))
  return { ms, cpuMs: (cpuSeconds(gateway.pid) - before) * 1_000 }
}

function costRow(what: string, aim: string, costs: readonly Cost[], mostMs: number): BenchRow {
  const times = costs.map(({ ms }) => ms)
  const measured = `p50 ${median(times).toFixed(0)} ms, p95 ${quantile(times, 0.95).toFixed(0)} ms, of ${costs.length}; ${median(costs.map(({ cpuMs }) => cpuMs)).toFixed(0)} ms CPU`
  return { what, aim, measured, ok: median(times) <= mostMs }
}

function median(numbers: number[]): number {
  return quantile(numbers, 0.5)
}

/** Waits until the process is idle, for example after its start. */
async function quiet({ pid }: Gateway): Promise<void> {
  for (let idle = 0, last = cpuSeconds(pid); idle < IDLE_SAMPLES; ) {
    await new Promise(resolve => setTimeout(resolve, 20))
    const now = cpuSeconds(pid)
    idle = now - last < 0.005 ? idle + 1 : 0
    last = now
  }
}

async function warmRow(gateway: Gateway): Promise<BenchRow> {
  await timesOf(ROUNDS, () => run(gateway, EMPTY))
  const before = cpuSeconds(gateway.pid)
  const times = await timesOf(WARM_ROUNDS, () => run(gateway, EMPTY))
  const cpuMs = ((cpuSeconds(gateway.pid) - before) * 1_000) / WARM_ROUNDS
  const [p50, p95] = [quantile(times, 0.5), quantile(times, 0.95)]
  return {
    what: 'an empty script, after others',
    aim: '≤ 15 ms',
    measured: `p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms, ${cpuMs.toFixed(1)} ms CPU`,
    ok: p50 <= 15,
  }
}

async function parallelRow(gateway: Gateway): Promise<BenchRow> {
  const source = `return (await Promise.all(Array.from({length: ${CALLS}}, () => tools.echo.echo({text: "a"})))).length`
  const script = quantile(await timesOf(ROUNDS, () => run(gateway, source)), 0.5)
  const single = quantile(
    await timesOf(ROUNDS, async () => {
      for (let n = 0; n < CALLS; n++) await callOnce(gateway, n)
    }),
    0.5,
  )
  return {
    what: `${CALLS} calls of ${ANSWER_MS} ms by one script, 8 at once, against ${CALLS} by execute_mcp_tool, one after another`,
    aim: 'faster',
    measured: `${script.toFixed(0)} ms against ${single.toFixed(0)} ms`,
    ok: script < single,
  }
}

/** Calls of other clients at an even rate, alternately with and without scripts that compute. */
async function othersRow(gateway: Gateway): Promise<BenchRow> {
  const [alone, beside]: [number[], number[]] = [[], []]
  const body = requestBody('tools/call', { name: 'execute_mcp_tool', arguments: echoCall(0) })
  const calls = async () =>
    (await pacedLoad(`${gateway.url}/mcp`, [body], OTHERS_PER_SECOND, OTHERS_SECONDS)).p99
  await calls()
  for (let round = 0; round < OTHERS_ROUNDS; round++) {
    alone.push(await calls())
    const spinning = await startRunning(gateway, SPIN)
    beside.push(await calls())
    await spinning.stop()
  }
  const [aloneMs, besideMs] = [quantile(alone, 0.5), quantile(beside, 0.5)]
  return {
    what: `calls of other clients while ${SCRIPTS} scripts compute`,
    aim: 'p99 ≤ 2 ×',
    measured: `${(besideMs / aloneMs).toFixed(1)} × (p99 ${aloneMs.toFixed(1)} ms alone, ${besideMs.toFixed(1)} ms beside, medians of ${OTHERS_ROUNDS} rounds)`,
    ok: besideMs <= 2 * aloneMs,
  }
}

/** Resident memory after full garbage collections, so that only memory in use is counted. */
async function memoryRows(gateway: Gateway, inspectPort: number): Promise<BenchRow[]> {
  const heap = await openHeap(gateway.pid, inspectPort)
  const resident = async () => (await heap.memory()).residentMegabytes
  try {
    const before = await resident()
    const large = await startRunning(gateway, LARGE)
    const grown = (await peakOf(gateway)) - before
    await large.stop()
    for (let n = 0; n < 5; n++) await run(gateway, BOMB)
    const warm = await resident()
    for (let n = 0; n < BOMBS; n++) await run(gateway, BOMB)
    const kept = (await resident()) - warm
    return [
      {
        what: `memory of ${SCRIPTS} running scripts that have taken 25 MB of their 32 MiB each`,
        aim: 'no target',
        measured: `${grown.toFixed(0)} MB`,
        ok: true,
      },
      {
        what: `memory after ${BOMBS} scripts that exceed their limit`,
        aim: '≤ + 5 MB',
        measured: `${kept < 0 ? '−' : '+'} ${Math.abs(kept).toFixed(1)} MB`,
        ok: kept <= 5,
      },
    ]
  } finally {
    heap.close()
  }
}

/** Starts scripts, each for a client that can disconnect; resolves when all of them run. */
async function startRunning(gateway: Gateway, code: string) {
  const stopped = new AbortController()
  const scripts = Array.from({ length: SCRIPTS }, () => {
    const body = requestBody('tools/call', { name: 'run_mcp_script', arguments: { code } })
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    return fetch(`${gateway.url}/mcp`, { method: 'POST', headers, body, signal: stopped.signal }).catch(
      () => undefined,
    )
  })
  while (!(await activeScripts(gateway, SCRIPTS))) await new Promise(resolve => setTimeout(resolve, 20))
  return {
    async stop() {
      stopped.abort()
      await Promise.all(scripts)
      while (!(await activeScripts(gateway, 0))) await new Promise(resolve => setTimeout(resolve, 20))
    },
  }
}

async function activeScripts({ url }: Gateway, count: number): Promise<boolean> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return new RegExp(`^portolan_scripts_active ${count}$`, 'm').test(text)
}

async function peakOf({ pid }: Gateway): Promise<number> {
  let most = 0
  for (const endMs = performance.now() + 3_000; performance.now() < endMs; ) {
    most = Math.max(most, residentMegabytes(pid))
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  return most
}

function run({ url }: Gateway, code: string) {
  return callTool(`${url}/mcp`, 'run_mcp_script', { code })
}

function callOnce({ url }: Gateway, n: number) {
  return callTool(`${url}/mcp`, 'execute_mcp_tool', echoCall(n))
}

function echoCall(n: number): JsonObject {
  return { tool_path: 'echo:echo', arguments: { text: `${n}` } }
}

function threadsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/task`).length
}

async function timesOf(rounds: number, run: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const startedMs = performance.now()
    await run()
    times.push(performance.now() - startedMs)
  }
  return times
}

function writeManifests(folder: string, runsScripts: boolean, url: string): void {
  mkdirSync(folder, { recursive: true })
  const limits = { computing: '60s', timeout: '2m', scriptsPerClient: SCRIPTS }
  const manifests = {
    McpServer: { remote: { url } },
    McpGateway: runsScripts ? { code: { enabled: true, limits } } : {},
  }
  for (const [kind, spec] of Object.entries(manifests)) {
    const name = kind === 'McpServer' ? 'echo' : 'tools'
    const manifest = { apiVersion: 'portolan.dev/v1alpha1', kind, metadata: { name }, spec }
    writeFileSync(join(folder, `${kind}.yaml`), JSON.stringify(manifest))
  }
}
