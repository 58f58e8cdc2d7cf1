/** What a gateway keeps: over a million calls and a hundred reloads, for idle event streams, for a client's session. */
import { rmSync } from 'node:fs'
import { Agent, get, type IncomingMessage } from 'node:http'
import { MCP_HEADERS, requestBody } from '../support/mcp.ts'
import { type Heap, type Memory, openHeap } from './heap.ts'
import { load, type Target } from './load.ts'
import type { BenchRow } from './row.ts'

const LEGS = 20
const CALLS = 1_000_000
const RELOADS = 100
const LEG_SECONDS = 4
const CONNECTIONS = 16
const CLIENTS = 1_000
/** Requests that this process has under way at once. */
const AT_ONCE = 50

/** For the report; from the process's maps, V8's statistics and a heap snapshot, not measured by each run. */
export const WHERE_THE_MEGABYTES_ARE = `## Where the megabytes are

A gateway with 42 remote servers and their 784 tools, the encoder included, on Linux: 179 MB resident after its start, 146 MB after a
full garbage collection.

| what | MB |
|---|---|
| Node's own program and data, mapped from its file and shared with other processes of it | 53 |
| V8's young generation: two halves of 16 MB, filled by calls and given back by a full collection | 32 |
| V8's old generation: arrays 14, most of them the search index; compiled code 11; sources 6; objects, shapes and closures 10 | 41 |
| weights of the encoder and its working memory, in WebAssembly | 23 |
| malloc: sockets, TLS, parsers, compiled code of regular expressions | 16 |
| the encoder's thread, stacks, machine code, page tables | the rest |

Sources were 20 MB when 1,008 modules and the type stripper were loaded, and 215 MB were resident then.
`

export type Remembering = {
  url: string
  pid: number
  /** Where its inspector may listen. */
  inspectPort: number
  call: Target
  /** Gives it one more server, and returns the manifest. */
  addServer(name: string): string
  /** Waits until that server is found. */
  untilFound(name: string): Promise<void>
}

export async function benchMemory(gateway: Remembering): Promise<BenchRow[]> {
  const heap = await openHeap(gateway.pid, gateway.inspectPort)
  try {
    return [
      await benchFlatness(gateway, heap),
      await benchSessions(gateway, heap),
      await benchStreams(gateway, heap),
    ]
  } finally {
    heap.close()
  }
}

/** The slope of the second half says whether it would go on growing; the first half fills what is kept on purpose. */
async function benchFlatness(gateway: Remembering, heap: Heap): Promise<BenchRow> {
  const idle = await heap.memory()
  const legs: (Memory & { calls: number })[] = []
  let [calls, failed, reloads] = [0, 0, 0]
  while (calls < CALLS) {
    const reloading = reload(gateway, reloads, RELOADS / LEGS)
    const result = await load(gateway.call, CONNECTIONS, LEG_SECONDS)
    reloads += await reloading
    calls += Math.round(result.callsPerSecond * LEG_SECONDS)
    failed += result.failed
    legs.push({ calls, ...(await heap.memory()) })
  }
  while (reloads < RELOADS) reloads += await reload(gateway, reloads, 1)
  const after = await heap.memory()
  const growth = slope(legs.slice(Math.floor(legs.length / 2))) * 1e6
  return {
    what: `memory with 784 tools over ${CALLS.toLocaleString('en')} calls and ${RELOADS} reloads`,
    aim: '≤ 160 MB resident, heap flat (≤ 2 MB a million calls in the second half)',
    measured: `${shown(idle)} before, ${shown(after)} after; ${growth.toFixed(1)} MB a million calls; ${failed} failed`,
    ok: after.residentMegabytes <= 160 && growth <= 2 && failed === 0,
  }
}

/** Each time a server comes or goes. */
async function reload(gateway: Remembering, done: number, times: number): Promise<number> {
  for (let time = 0; time < times; time++) {
    const name = `again-${done + time}`
    const file = gateway.addServer(name)
    await gateway.untilFound(name)
    rmSync(file)
  }
  return times
}

/** Megabytes a call, by least squares. */
function slope(points: readonly { calls: number; heapMegabytes: number }[]): number {
  const mean = (of: (point: (typeof points)[number]) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length
  const [x, y] = [mean(({ calls }) => calls), mean(({ heapMegabytes }) => heapMegabytes)]
  const covariance = mean(({ calls, heapMegabytes }) => (calls - x) * (heapMegabytes - y))
  return covariance / mean(({ calls }) => (calls - x) ** 2)
}

/** Clients that said initialize, called a tool, listened, and went without a word. */
async function benchSessions(gateway: Remembering, heap: Heap): Promise<BenchRow> {
  await each(AT_ONCE, () => visit(gateway))
  const before = await heap.memory()
  await each(CLIENTS, () => visit(gateway))
  const after = await heap.memory()
  const kilobytes = ((after.heapMegabytes - before.heapMegabytes) * 1024) / CLIENTS
  return {
    what: "memory of a client's session: initialize, a call, an event stream that was closed",
    aim: '≤ 20 KB',
    measured: `${kilobytes.toFixed(1)} KB, of ${CLIENTS.toLocaleString('en')}`,
    ok: kilobytes <= 20,
  }
}

async function visit(gateway: Remembering): Promise<void> {
  const session = await begin(gateway.url)
  const headers = { ...gateway.call.headers, 'mcp-session-id': session }
  const answer = await fetch(gateway.url, { method: 'POST', headers, body: gateway.call.body })
  await answer.text()
  const stream = await listen(gateway.url, session)
  stream.destroy()
}

async function benchStreams(gateway: Remembering, heap: Heap): Promise<BenchRow> {
  const before = await heap.memory()
  const streams = await each(CLIENTS, async () => listen(gateway.url, await begin(gateway.url)))
  const after = await heap.memory()
  const open = streams.filter(({ statusCode, destroyed }) => statusCode === 200 && !destroyed).length
  for (const stream of streams) stream.destroy()
  const more = after.residentMegabytes - before.residentMegabytes
  return {
    what: `memory of ${CLIENTS.toLocaleString('en')} idle event streams, each of a client of its own`,
    aim: '≤ 50 MB more',
    measured: `${more.toFixed(0)} MB resident, ${(after.heapMegabytes - before.heapMegabytes).toFixed(0)} MB of it heap; ${open} open`,
    ok: more <= 50 && open === CLIENTS,
  }
}

/** A new session's id. */
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

/** Opens an event stream, on a connection of its own, and goes on as soon as its head is there. */
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

/** Does `work` so many times, some side by side. */
async function each<T>(times: number, work: () => Promise<T>): Promise<T[]> {
  const done: T[] = []
  let begun = 0
  const worker = async () => {
    while (begun++ < times) done.push(await work())
  }
  await Promise.all(Array.from({ length: Math.min(times, AT_ONCE) }, worker))
  return done
}

function shown({ residentMegabytes, heapMegabytes }: Memory): string {
  return `${residentMegabytes.toFixed(0)} MB (heap ${heapMegabytes.toFixed(1)} MB)`
}
