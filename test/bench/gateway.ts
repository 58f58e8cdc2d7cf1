/** Measures a gateway process with 42 replayed servers: start, calls, changes, tokens, memory, and calls while it is busy. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '../../core/json.ts'
import { freePort } from '../support/free-port.ts'
import { skipModel, testModelFile } from '../support/model.ts'
import { type Gateway, type Running, startGateway, startScript } from '../support/processes.ts'
import { sampleArguments } from '../support/sample-arguments.ts'
import { defaultCatalogs } from '../upstreams/replay/catalogs.ts'
import { benchBusy, untilEncoded } from './busy.ts'
import { benchCompare } from './compare/compare.ts'
import { benchChange, benchDiscovery, benchStart, benchTokens, untilFound } from './life.ts'
import { type Target, target } from './load.ts'
import { benchMemory, benchResident, type MeasuredGateway } from './memory.ts'
import type { BenchRow } from './row.ts'

type Replayed = { name: string; url: string; tools: string[]; tokens: number }
type Replay = { servers: Replayed[] }

type Bench = {
  replay: Running & { ready: Replay }
  gateway: Gateway
  mcp: string
  manifests: string
  /** The server of the called tool, and the call without the server's name. */
  server: Replayed
  call: { name: string; arguments: JsonObject }
  model: string | undefined
}

const say = (text: string) => process.stderr.write(`${text}\n`)

/** `parts` contains `start`, `compare`, `life` or `memory`. The time of the start is always measured. */
export async function benchGateway(
  folder: string,
  parts: ReadonlySet<string>,
): Promise<{ rows: BenchRow[]; section: string }> {
  const rows: BenchRow[] = []
  let section = ''
  await using running = new AsyncDisposableStack()
  const use = <Process extends Running>(process: Process): Process => {
    running.defer(() => process.stop())
    return process
  }
  const replay = use(await startScript<Replay>(['test/upstreams/replay/main.ts']))
  const manifests = join(folder, 'manifests')
  writeManifests(manifests, replay.ready)
  const model = skipModel() ? undefined : testModelFile()
  const inspectPort = await freePort()
  const env = { PORTOLAN_MODEL: model, NODE_OPTIONS: `--inspect-port=${inspectPort}` }
  const options = { cache: join(folder, 'cache'), args: ['--servers'], env }
  say('filling the cache')
  const filling = await startGateway([manifests], options)
  if (model !== undefined) await untilEncoded(filling.url)
  await filling.stop()
  say('start with a cached catalog')
  const gateway = use(await startGateway([manifests], options))
  const mcp = `${gateway.url}/mcp`
  rows.push(await benchStart(mcp, gateway.startedAt))
  const { server, tool } = firstTool(replay.ready)
  const call = { name: tool, arguments: argumentsOf(server.name, tool) }
  const bench = { replay, gateway, mcp, manifests, server, call, model }
  if (parts.has('start') && model !== undefined) {
    say('memory after the start')
    await untilEncoded(gateway.url)
    rows.push(await benchResident(throughGateway(bench, server.name)))
  }
  if (parts.has('compare')) {
    const compared = await benchCompare({ origin: gateway.url, pid: gateway.pid, add: adder(manifests, mcp) })
    rows.push(...compared.rows)
    section = compared.section
  }
  if (parts.has('life')) rows.push(...(await lifeRows(bench)))
  if (parts.has('memory')) {
    say('memory')
    rows.push(...(await benchMemory(measuredGateway(bench, inspectPort))))
  }
  return { rows, section }
}

/** Adds a server whose tool is `echo`. */
function adder(manifests: string, mcp: string) {
  return async (name: string, url: string, limits: object | undefined) => {
    writeManifest(manifests, { name, url }, limits)
    await untilFound(mcp, `${name}:echo`)
  }
}

async function lifeRows(bench: Bench): Promise<BenchRow[]> {
  const { replay, gateway, mcp, manifests, server, call, model } = bench
  const { servers } = replay.ready
  const viaGateway = throughGateway(bench, server.name)
  say('changes')
  const rows = [await benchChange(mcp, manifests, server.url, call.name)]
  rows.push(
    await benchTokens(
      mcp,
      servers.reduce((sum, { tokens }) => sum + tokens, 0),
    ),
  )
  const queries = queriesOf(replay.ready)
  rows.push(await benchDiscovery(mcp, queries))
  if (model === undefined) return rows
  say('calls while it is busy')
  const searches = queries.map(query =>
    target(mcp, gateway.pid, { name: 'discover_mcp_tools', arguments: { query, limit: 5 } }),
  )
  const addTools = () =>
    servers.map(({ name, url }) => writeManifest(manifests, { name: `new-${name}`.slice(0, 45), url }))
  return [...rows, await benchBusy({ url: gateway.url, call: viaGateway, searches, addTools })]
}

function measuredGateway(bench: Bench, inspectPort: number): MeasuredGateway {
  const { gateway, mcp, manifests, server, call } = bench
  return {
    url: mcp,
    pid: gateway.pid,
    inspectPort,
    call: throughGateway(bench, server.name),
    addServer: name => writeManifest(manifests, { name, url: server.url }),
    untilFound: name => untilFound(mcp, `${name}:${call.name}`),
  }
}

function throughGateway({ mcp, gateway, call }: Bench, server: string): Target {
  const execute = { tool_path: `${server}:${call.name}`, arguments: call.arguments }
  return target(mcp, gateway.pid, { name: 'execute_mcp_tool', arguments: execute })
}

/** A short query for every eighth tool. */
function queriesOf({ servers }: Replay): string[] {
  return servers.flatMap(({ name, tools }) =>
    tools
      .filter((_tool, at) => at % 8 === 0)
      .map(tool => `${name} ${tool}`.replaceAll(/[^A-Za-z0-9]+/g, ' ')),
  )
}

function firstTool(replay: Replay): { server: Replayed; tool: string } {
  for (const server of replay.servers) {
    const [tool] = server.tools
    if (tool) return { server, tool }
  }
  throw new Error('the replay upstream has no tool')
}

/** Valid arguments: the gateway would refuse others. */
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
