/**
 * Runs every benchmark in one go and writes docs/bench.md: figures of one run on one machine, compared within it.
 * `main.ts search`, `encoder`, `calls`, `life`, `bridge`, `cluster` run a part and write nothing.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '../../core/json.ts'
import { skipCluster } from '../cluster/available.ts'
import { type Running, startGateway, startScript } from '../support/processes.ts'
import { sampleArguments } from '../support/sample-arguments.ts'
import { defaultCatalogs } from '../upstreams/replay/catalogs.ts'
import { benchBridge } from './bridge.ts'
import { benchCalls, target } from './calls.ts'
import { benchCluster } from './cluster.ts'
import { benchEncoder } from './encoder.ts'
import { benchChange, benchDiscovery, benchMemory, benchStart, benchTokens, untilFound } from './life.ts'
import { type BenchRow, table } from './row.ts'
import { benchSearch } from './search.ts'

/** The called server once more, with another limit. */
const WIDE = 'wide'

type Replay = { servers: { name: string; url: string; tools: string[]; tokens: number }[] }

const say = (text: string) => process.stderr.write(`${text}\n`)
const PARTS = ['search', 'encoder', 'calls', 'life', 'bridge', 'cluster'] as const
const parts = new Set(process.argv.length > 2 ? process.argv.slice(2) : PARTS)
const folder = mkdtempSync(join(tmpdir(), 'portolan-bench-'))
const rows: BenchRow[] = []
try {
  if (parts.has('search')) {
    say('search and index build')
    rows.push(...(await benchSearch()))
  }
  if (parts.has('encoder')) {
    say('sentence encoder')
    rows.push(...(await benchEncoder()))
  }
  if (parts.has('calls') || parts.has('life')) rows.push(...(await benchGateway()))
  if (parts.has('bridge')) {
    say('bridge')
    rows.push(...(await benchBridge(folder, target)))
  }
  if (parts.has('cluster') && !skipCluster()) rows.push(...(await benchCluster()))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
const report = `# Benchmarks

Figures of one run of \`npm run bench\` on ${cpus().length} cores that load, gateway and upstream share; ratios carry over to
other machines better than rates do.

${table(rows)}
`
if (parts.size === PARTS.length) writeFileSync('docs/bench.md', report)
process.stdout.write(report)

async function benchGateway(): Promise<BenchRow[]> {
  const rows: BenchRow[] = []
  await using running = new AsyncDisposableStack()
  const use = <Process extends Running>(process: Process): Process => {
    running.defer(() => process.stop())
    return process
  }
  const replay = use(await startScript<Replay>(['test/upstreams/replay/main.ts']))
  const manifests = join(folder, 'manifests')
  const cache = join(folder, 'cache')
  writeManifests(manifests, replay.ready)
  say('filling the cache')
  await (await startGateway([manifests], { cache })).stop()
  say('start with a cached catalog')
  const gateway = use(await startGateway([manifests], { cache }))
  const mcp = `${gateway.url}/mcp`
  rows.push(await benchStart(mcp, gateway.startedAt))
  const direct = replay.ready.servers.reduce((sum, server) => sum + server.tokens, 0)
  const { server, tool } = firstTool(replay.ready)
  const call = { name: tool, arguments: argumentsOf(server.name, tool) }
  const viaGateway = (name: string) => {
    const execute = { tool_path: `${name}:${tool}`, arguments: call.arguments }
    return target(mcp, gateway.pid, { name: 'execute_mcp_tool', arguments: execute })
  }
  if (parts.has('calls')) {
    const bare = use(await startScript<{ port: number }>(['test/bench/passthrough.ts', server.url]))
    say('calls')
    const passthrough = target(`http://127.0.0.1:${bare.ready.port}/mcp`, bare.pid, call)
    const direct = target(server.url, replay.pid, call)
    const wide = writeManifest(manifests, { name: WIDE, url: server.url }, { concurrency: 64 })
    await untilFound(mcp, `${WIDE}:${tool}`)
    rows.push(
      ...(await benchCalls({
        direct,
        passthrough,
        gateway: viaGateway(server.name),
        wide: viaGateway(WIDE),
      })),
    )
    rmSync(wide)
  }
  if (!parts.has('life')) return rows
  say('changes')
  rows.push(await benchChange(mcp, manifests, server.url, tool))
  rows.push(await benchTokens(mcp, direct))
  rows.push(await benchDiscovery(mcp, queriesOf(replay.ready)))
  say('memory')
  return [...rows, await benchMemory(viaGateway(server.name))]
}

/** A terse query for every eighth tool. */
function queriesOf({ servers }: Replay): string[] {
  return servers.flatMap(({ name, tools }) =>
    tools
      .filter((_tool, at) => at % 8 === 0)
      .map(tool => `${name} ${tool}`.replaceAll(/[^A-Za-z0-9]+/g, ' ')),
  )
}

function firstTool(replay: Replay): { server: Replay['servers'][number]; tool: string } {
  for (const server of replay.servers) {
    const [tool] = server.tools
    if (tool) return { server, tool }
  }
  throw new Error('the replay upstream has no tool')
}

/** As the tool's schema wants them: others would be refused by the gateway. */
function argumentsOf(server: string, tool: string): JsonObject {
  const catalog = defaultCatalogs().find(({ name }) => name === server)
  return sampleArguments(catalog?.tools.find(({ name }) => name === tool)?.inputSchema ?? {})
}

function writeManifests(to: string, replay: Replay): void {
  mkdirSync(to, { recursive: true })
  for (const server of replay.servers) writeManifest(to, server)
}

function writeManifest(to: string, { name, url }: { name: string; url: string }, limits?: object): string {
  const file = join(to, `${name}.yaml`)
  const spec = { remote: { url }, limits }
  const manifest = { apiVersion: 'portolan.dev/v1alpha1', kind: 'McpServer', metadata: { name }, spec }
  writeFileSync(file, JSON.stringify(manifest))
  return file
}
