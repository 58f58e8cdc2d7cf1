/** Measures how long users wait for a restart and a changed manifest, and what the gateway costs in tokens. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { callTool, discoverTools, request } from '../support/mcp.ts'
import { type BenchRow, quantile } from './row.ts'

const CHANGES = 20

/** The time from starting the process to its first answered search, with a cached catalog. */
export async function benchStart(url: string, startedAt: number): Promise<BenchRow> {
  for (;;) {
    const found = await discoverTools(url, 'gitlab create issue').catch(() => undefined)
    if (found && found.tools.length > 0) break
    await new Promise(resolve => setImmediate(resolve))
  }
  const seconds = (performance.now() - startedAt) / 1000
  return {
    what: 'from start to the first answered search, with a cached catalog of 42 servers',
    aim: '≤ 0.7 s',
    measured: `${seconds.toFixed(2)} s`,
    ok: seconds <= 0.7,
  }
}

/** Writes manifests of a running server under new names and waits until a search by exact name finds them. */
export async function benchChange(
  url: string,
  folder: string,
  upstream: string,
  tool: string,
): Promise<BenchRow> {
  const times: number[] = []
  for (let round = 0; round < CHANGES; round++) {
    const name = `added-${round}`
    const file = join(folder, `${name}.yaml`)
    const manifest = {
      apiVersion: 'portolan.dev/v1alpha1',
      kind: 'McpServer',
      metadata: { name },
      spec: { remote: { url: upstream } },
    }
    const started = performance.now()
    writeFileSync(file, JSON.stringify(manifest))
    await untilFound(url, `${name}:${tool}`)
    times.push(performance.now() - started)
    rmSync(file)
  }
  const p95 = quantile(times, 0.95)
  return {
    what: 'from the change of a manifest to finding its tools, p95 (server already running)',
    aim: '≤ 1 s',
    measured: `p50 ${(quantile(times, 0.5) / 1000).toFixed(2)} s, p95 ${(p95 / 1000).toFixed(2)} s`,
    ok: p95 <= 1000,
  }
}

/** Waits until a search for the exact tool path finds the tool. */
export async function untilFound(url: string, path: string): Promise<void> {
  const deadline = performance.now() + 30_000
  while (performance.now() < deadline) {
    const found = await discoverTools(url, path).catch(() => undefined)
    if (found?.tools[0]?.tool_path === path) return
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  throw new Error(`${path} was not found within 30 s`)
}

/** What the gateway's tools/list costs, and what it saves compared with all definitions. */
export async function benchTokens(url: string, direct: number): Promise<BenchRow> {
  const { tools } = (await request(url, 'tools/list')) as {
    tools: { name: string; description: string; inputSchema: object }[]
  }
  const cost = tools
    .map(
      ({ name, description, inputSchema }) =>
        encode(JSON.stringify({ name, description, inputSchema })).length,
    )
    .reduce((sum, tokens) => sum + tokens, 0)
  const saved = 1 - cost / direct
  return {
    what: `tokens of tools/list; saved compared with all tools (${direct.toLocaleString('en')})`,
    aim: '≤ 600; ≥ 99.7 %',
    measured: `${cost}; ${(saved * 100).toFixed(2)} %`,
    ok: cost <= 600 && saved >= 0.997,
  }
}

/** The average cost of an answer of discover_mcp_tools with limit 5: with schemas, and without them. */
export async function benchDiscovery(url: string, queries: readonly string[]): Promise<BenchRow> {
  let whole = 0
  let bare = 0
  for (const query of queries) {
    const { content } = await callTool(url, 'discover_mcp_tools', { query, limit: 5 })
    const answer = JSON.parse(content[0]?.text ?? '{}') as { tools: { input_schema?: object }[] }
    whole += encode(JSON.stringify(answer)).length
    for (const tool of answer.tools) delete tool.input_schema
    bare += encode(JSON.stringify(answer)).length
  }
  const [average, averageBare] = [whole / queries.length, bare / queries.length]
  return {
    what: 'tokens of an average discovery answer at limit 5, over a query `server tool` for every eighth tool; without its schemas',
    aim: '≤ 1,200; ≤ 350',
    measured: `${average.toFixed(0)}; ${averageBare.toFixed(0)}`,
    ok: average <= 1_200 && averageBare <= 350,
  }
}
