/** Runs every benchmark in one go and writes docs/bench.md: figures of one run on one machine, compared within it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Running, startGateway, startScript } from '../support/processes.ts'
import { benchCalls, target } from './calls.ts'
import { benchChange, benchMemory, benchStart, benchTokens } from './life.ts'
import { type BenchRow, table } from './row.ts'
import { benchSearch } from './search.ts'

type Replay = { servers: { name: string; url: string; tools: string[]; tokens: number }[] }

const say = (text: string) => process.stderr.write(`${text}\n`)
const folder = mkdtempSync(join(tmpdir(), 'portolan-bench-'))
const rows: BenchRow[] = []
try {
  say('search and index build')
  rows.push(...(await benchSearch()))
  rows.push(...(await benchGateway()))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
const report = `# Benchmarks

Figures of one run of \`npm run bench\` on ${cpus().length} cores that load, gateway and upstream share; ratios carry over to
other machines better than rates do.

${table(rows)}
`
writeFileSync('docs/bench.md', report)
process.stdout.write(report)

async function benchGateway(): Promise<BenchRow[]> {
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
  const start = await benchStart(mcp, gateway.startedAt)
  const direct = replay.ready.servers.reduce((sum, server) => sum + server.tokens, 0)
  const { server, tool } = firstTool(replay.ready)
  const bare = use(await startScript<{ port: number }>(['test/bench/passthrough.ts', server.url]))
  say('calls')
  const call = { name: tool, arguments: { text: 'hello' } }
  const execute = { tool_path: `${server.name}:${tool}`, arguments: call.arguments }
  const viaGateway = target(mcp, gateway.pid, { name: 'execute_mcp_tool', arguments: execute })
  const calls = await benchCalls(
    target(server.url, replay.pid, call),
    target(`http://127.0.0.1:${bare.ready.port}/mcp`, bare.pid, call),
    viaGateway,
  )
  say('changes')
  const change = await benchChange(mcp, manifests, server.url, tool)
  const tokens = await benchTokens(mcp, direct)
  say('memory')
  return [...calls, start, change, await benchMemory(viaGateway), tokens]
}

function firstTool(replay: Replay): { server: Replay['servers'][number]; tool: string } {
  for (const server of replay.servers) {
    const [tool] = server.tools
    if (tool) return { server, tool }
  }
  throw new Error('the replay upstream has no tool')
}

function writeManifests(to: string, replay: Replay): void {
  mkdirSync(to, { recursive: true })
  for (const { name, url } of replay.servers) {
    const manifest = {
      apiVersion: 'portolan.dev/v1alpha1',
      kind: 'McpServer',
      metadata: { name },
      spec: { remote: { url } },
    }
    writeFileSync(join(to, `${name}.yaml`), JSON.stringify(manifest))
  }
}
