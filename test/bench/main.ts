/** Runs every benchmark in one go and writes docs/bench.md: figures of one run on one machine, compared within it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { startGateway, startScript } from '../support/processes.ts'
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
  const replay = await startScript<Replay>(['test/upstreams/replay/main.ts'])
  const manifests = join(folder, 'manifests')
  const cache = join(folder, 'cache')
  writeManifests(manifests, replay.ready)
  say('filling the cache')
  await (await startGateway([manifests], { cache })).stop()
  say('start with a cached catalog')
  const gateway = await startGateway([manifests], { cache, args: ['--quiet'] })
  const mcp = `${gateway.url}/mcp`
  const start = await benchStart(mcp, gateway.startedAt)
  const direct = replay.ready.servers.reduce((sum, server) => sum + server.tokens, 0)
  const first = replay.ready.servers.find(server => server.tools.length > 1)
  const [tool] = first?.tools ?? []
  if (!first || !tool) throw new Error('the replay upstream has no server with tools')
  const bare = await startScript<{ port: number }>(['test/bench/passthrough.ts', first.url])
  try {
    say('calls')
    const call = { name: tool, arguments: { text: 'hello' } }
    const calls = await benchCalls(
      target(first.url, replay.pid, call),
      target(`http://127.0.0.1:${bare.ready.port}/mcp`, bare.pid, call),
      target(mcp, gateway.pid, {
        name: 'execute_mcp_tool',
        arguments: { tool_path: `${first.name}:${tool}`, arguments: call.arguments },
      }),
    )
    say('changes')
    const change = await benchChange(mcp, manifests, first.url, tool)
    const tokens = await benchTokens(mcp, direct)
    say('memory')
    const memory = await benchMemory(
      target(mcp, gateway.pid, {
        name: 'execute_mcp_tool',
        arguments: { tool_path: `${first.name}:${tool}`, arguments: {} },
      }),
    )
    return [...calls, start, change, memory, tokens]
  } finally {
    await Promise.all([bare.stop(), gateway.stop(), replay.stop()])
  }
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
