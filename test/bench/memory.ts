/** Measures a gateway's memory: after the start and calls, growth over a million calls and a hundred reloads, idle event streams, client sessions. */
import { rmSync } from 'node:fs'
import { Agent, get, type IncomingMessage } from 'node:http'
import { MCP_HEADERS, requestBody } from '../support/mcp.ts'
import { type Heap, type Memory, openHeap } from './heap.ts'
import { load, residentMegabytes, type Target } from './load.ts'
import type { BenchRow } from './row.ts'

const CALLS_AFTER_START = 100_000
const INTERVALS = 20
const CALLS = 1_000_000
const RELOADS = 100
const INTERVAL_SECONDS = 4
const CONNECTIONS = 16
const CLIENTS = 1_000
/** Concurrent requests of this process. */
const CONCURRENT = 50

/** For the report. Determined once from the process's maps, V8's statistics and a heap snapshot, not in each run. */
export const MEMORY_SECTION = `## What uses the memory

A gateway with 42 remote servers and 784 tools, with the encoder, on Linux: 179 MB resident after its start, 146 MB after a full
garbage collection.

| what | MB |
|---|---|
| Node's executable and data, mapped from its file and shared with other Node processes | 53 |
| V8's young generation: two halves of 16 MB, which calls fill and a full collection releases | 32 |
| V8's old generation: arrays 14 (mostly the search index), compiled code 11, sources 6, objects, shapes and closures 10 | 41 |
| WebAssembly memory of the encoder: weights and intermediate results | 23 |
| malloc: sockets, TLS, parsers, compiled code of regular expressions | 16 |
| the encoder's thread, stacks, machine code, page tables | the rest |

Without the bundle, 1,008 modules and the type stripper were loaded: sources then took 20 MB, and 215 MB were resident.
`

export type MeasuredGateway = {
  url: string
  pid: number
  /** The port for its inspector. */
  inspectPort: number
  call: Target
  /** Adds a server, and returns the path of its manifest. */
  addServer(name: string): string
  /** Waits until that server is found. */
  untilFound(name: string): Promise<void>
}

export async function benchMemory(gateway: MeasuredGateway): Promise<BenchRow[]> {
  const heap = await openHeap(gateway.pid, gateway.inspectPort)
  try {
    return [
      await benchGrowth(gateway, heap),
      await benchSessions(gateway, heap),
      await benchStreams(gateway, heap),
    ]
  } finally {
    heap.close()
  }
}

/** Resident memory as the system counts it, without a forced garbage collection. `call`: to a gateway that has just started. */
export async function benchResident(call: Target): Promise<BenchRow> {
  const started = residentMegabytes(call.pid)
  const { failed } = await load(call, CONNECTIONS, INTERVAL_SECONDS, CALLS_AFTER_START)
  const after = residentMegabytes(call.pid)
  return {
    what: `resident memory with 784 tools and the encoder, after the start and after ${CALLS_AFTER_START.toLocaleString('en')} calls`,
    aim: '≤ 180 MB',
    measured: `${started.toFixed(0)} MB, then ${after.toFixed(0)} MB; ${failed} failed`,
    ok: Math.max(started, after) <= 180 && failed === 0,
  }
}

/** The slope of the second half shows whether memory grows without bound; in the first half, caches are filled. */
async function benchGrowth(gateway: MeasuredGateway, heap: Heap): Promise<BenchRow> {
  const idle = await heap.memory()
  const samples: (Memory & { calls: number })[] = []
  let [calls, failed, reloads] = [0, 0, 0]
  while (calls < CALLS) {
    const reloading = reload(gateway, reloads, RELOADS / INTERVALS)
    const result = await load(gateway.call, CONNECTIONS, INTERVAL_SECONDS)
    reloads += await reloading
    calls += Math.round(result.callsPerSecond * INTERVAL_SECONDS)
    failed += result.failed
    samples.push({ calls, ...(await heap.memory()) })
  }
  while (reloads < RELOADS) reloads += await reload(gateway, reloads, 1)
  const after = await heap.memory()
  const growth = slope(samples.slice(Math.floor(samples.length / 2))) * 1e6
  return {
    what: `memory with 784 tools over ${CALLS.toLocaleString('en')} calls and ${RELOADS} reloads`,
    aim: '≤ 160 MB resident; heap growth ≤ 2 MB per million calls in the second half',
    measured: `${shown(idle)} before, ${shown(after)} after; ${growth.toFixed(1)} MB per million calls; ${failed} failed`,
    ok: after.residentMegabytes <= 160 && growth <= 2 && failed === 0,
  }
}

/** Causes reloads by adding and removing servers. */
async function reload(gateway: MeasuredGateway, done: number, times: number): Promise<number> {
  for (let time = 0; time < times; time++) {
    const name = `again-${done + time}`
    const file = gateway.addServer(name)
    await gateway.untilFound(name)
    rmSync(file)
  }
  return times
}

/** Heap growth in megabytes per call, by least squares. */
function slope(points: readonly { calls: number; heapMegabytes: number }[]): number {
  const mean = (of: (point: (typeof points)[number]) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length
  const [x, y] = [mean(({ calls }) => calls), mean(({ heapMegabytes }) => heapMegabytes)]
  const covariance = mean(({ calls, heapMegabytes }) => (calls - x) * (heapMegabytes - y))
  return covariance / mean(({ calls }) => (calls - x) ** 2)
}

/** Clients that initialize, call a tool, open an event stream, and disconnect without ending their session. */
async function benchSessions(gateway: MeasuredGateway, heap: Heap): Promise<BenchRow> {
  await each(CONCURRENT, () => visit(gateway))
  const before = await heap.memory()
  await each(CLIENTS, () => visit(gateway))
  const after = await heap.memory()
  const kilobytes = ((after.heapMegabytes - before.heapMegabytes) * 1024) / CLIENTS
  return {
    what: "memory of a client's session: after initialize, a call, and a closed event stream",
    aim: '≤ 20 KB',
    measured: `${kilobytes.toFixed(1)} KB, of ${CLIENTS.toLocaleString('en')}`,
    ok: kilobytes <= 20,
  }
}

async function visit(gateway: MeasuredGateway): Promise<void> {
  const session = await begin(gateway.url)
  const headers = { ...gateway.call.headers, 'mcp-session-id': session }
  const answer = await fetch(gateway.url, { method: 'POST', headers, body: gateway.call.body })
  await answer.text()
  const stream = await listen(gateway.url, session)
  stream.destroy()
}

async function benchStreams(gateway: MeasuredGateway, heap: Heap): Promise<BenchRow> {
  const before = await heap.memory()
  const streams = await each(CLIENTS, async () => listen(gateway.url, await begin(gateway.url)))
  const after = await heap.memory()
  const open = streams.filter(({ statusCode, destroyed }) => statusCode === 200 && !destroyed).length
  for (const stream of streams) stream.destroy()
  const more = after.residentMegabytes - before.residentMegabytes
  return {
    what: `memory of ${CLIENTS.toLocaleString('en')} idle event streams of as many clients`,
    aim: '≤ 50 MB',
    measured: `${more.toFixed(0)} MB resident, ${(after.heapMegabytes - before.heapMegabytes).toFixed(0)} MB of it in the heap; ${open} open`,
    ok: more <= 50 && open === CLIENTS,
  }
}

/** Begins a session and returns its id. */
async function begin(url: string): Promise<string> {
  const clientInfo = { name: 'bench', version: '1.0.0' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const answer = await fetch(url, {
    method: 'POST',
    headers: MCP_HEADERS,
    body: requestBody('initialize', params),
  })
  await answer.text()
  return answer.headers.get('mcp-session-id') ?? ''
}

/** Opens an event stream on a separate connection; resolves when its headers have arrived. */
function listen(url: string, session: string): Promise<IncomingMessage> {
  const headers = {
    accept: 'text/event-stream',
    'mcp-session-id': session,
    'mcp-protocol-version': '2025-11-25',
  }
  return new Promise((resolve, reject) => {
    get(url, { headers, agent: new Agent({ keepAlive: false }) }, stream => {
      stream.on('error', () => {})
      resolve(stream.resume())
    }).on('error', reject)
  })
}

/** Runs `work` the given number of times, with limited concurrency. */
async function each<T>(times: number, work: () => Promise<T>): Promise<T[]> {
  const done: T[] = []
  let begun = 0
  const worker = async () => {
    while (begun++ < times) done.push(await work())
  }
  await Promise.all(Array.from({ length: Math.min(times, CONCURRENT) }, worker))
  return done
}

function shown({ residentMegabytes, heapMegabytes }: Memory): string {
  return `${residentMegabytes.toFixed(0)} MB (heap ${heapMegabytes.toFixed(1)} MB)`
}
