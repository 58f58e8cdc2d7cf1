/** Measures the latency of calls while the gateway searches and encodes new tools, compared with an idle gateway. */
import { rmSync } from 'node:fs'
import type { Target } from './load.ts'
import { pacedLoad } from './paced.ts'
import type { BenchRow } from './row.ts'

export type BusyGateway = {
  url: string
  /** A call through it. */
  call: Target
  /** Searches, each with a different query. */
  searches: readonly Target[]
  /** Adds servers with new tools, and returns the paths of their manifests. */
  addTools(): string[]
}

/** Far below the maximum, because the latency of each call is measured, not the throughput. */
const CALLS_PER_SECOND = 100
const SEARCHES_PER_SECOND = 50
const IDLE_SECONDS = 10
const BUSY_SECONDS = 15

export async function benchBusy({ url, call, searches, addTools }: BusyGateway): Promise<BenchRow> {
  const calls = (seconds: number) => pacedLoad(call.url, [call.body], CALLS_PER_SECOND, seconds)
  const queries = searches.map(({ body }) => body)
  const warmUp = [
    calls(IDLE_SECONDS / 2),
    pacedLoad(call.url, queries, SEARCHES_PER_SECOND, IDLE_SECONDS / 2),
  ]
  await Promise.all(warmUp)
  const idle = await calls(IDLE_SECONDS)
  const manifests = addTools()
  const before = await untilEncoding(url)
  const [busy, searched] = await Promise.all([
    calls(BUSY_SECONDS),
    pacedLoad(call.url, queries, SEARCHES_PER_SECOND, BUSY_SECONDS),
  ])
  const encoded = before - (await searchOf(url)).pending
  for (const file of manifests) rmSync(file)
  const ratio = busy.p99 / idle.p99
  return {
    what: 'calls while the gateway searches 50 times a second and encodes new tools: p99 compared with p99 when idle',
    aim: '≤ 2 ×',
    measured: `${ratio.toFixed(1)} × (${ms(idle.p99)}, then ${ms(busy.p99)}; ${encoded} texts encoded, searches p50 ${ms(searched.p50)}, p99 ${ms(searched.p99)}; ${busy.failed + searched.failed} failed)`,
    ok: ratio <= 2 && busy.failed + searched.failed === 0 && encoded > 0,
  }
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`
}

/** Waits until all texts are encoded. */
export async function untilEncoded(url: string): Promise<void> {
  const deadline = performance.now() + 120_000
  let seen = 0
  while (performance.now() < deadline) {
    const { semantic, pending } = await searchOf(url)
    seen = semantic === 'embedded' && pending === 0 ? seen + 1 : 0
    if (seen > 5) return
    await new Promise(resolve => setTimeout(resolve, 200))
  }
  throw new Error('the tools were not encoded in time')
}

/** Waits until the new servers are discovered; returns the number of texts that are not encoded yet. */
async function untilEncoding(url: string): Promise<number> {
  const deadline = performance.now() + 60_000
  let before = 0
  while (performance.now() < deadline) {
    await new Promise(resolve => setTimeout(resolve, 1_000))
    const { pending } = await searchOf(url)
    if (pending > 0 && pending <= before) return pending
    before = pending
  }
  throw new Error('no text to encode appeared within a minute: is the model missing?')
}

async function searchOf(url: string): Promise<{ semantic?: string; pending: number }> {
  const response = await fetch(`${url}/debug/status`)
  const { search } = (await response.json()) as { search?: { semantic?: string; pending: number } }
  return search ?? { pending: 0 }
}
