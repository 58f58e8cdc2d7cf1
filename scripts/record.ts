/**
 * Records the catalogs of MCP servers as JSON files, one per server, which test/upstreams/replay can replay.
 * `npm run record -- PATH… FOLDER` records the servers of manifests and client configs,
 * `npm run record -- FOLDER -- COMMAND ARG…` the server that the command starts.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../core/async.ts'
import type { ServerCatalog } from '../core/catalog/server-catalog.ts'
import { messageOf } from '../core/errors.ts'
import { createLog } from '../core/log.ts'
import { startReaper } from '../core/mcp/client/stdio/reaper.ts'
import { createStdioUpstream } from '../core/mcp/client/stdio/stdio-upstream.ts'
import { discover } from '../core/mcp/discovery/discover.ts'
import type { Upstream } from '../core/mcp/upstream.ts'
import { createTokenCounter } from '../core/tokens.ts'
import type { McpServer } from '../crds/server.ts'
import type { DesiredServer } from '../local/children.ts'
import { cacheFolder } from '../local/config.ts'
import { inheritedEnvironment } from '../local/environment.ts'
import { ManifestFiles } from '../local/files.ts'
import { launch } from '../local/launch-server.ts'
import { createPackages } from '../local/packages/packages.ts'
import { readPaths } from '../local/read.ts'
import { createStderrTails } from '../local/stderr-tails.ts'

const USAGE = `usage: npm run record -- PATH… FOLDER
       npm run record -- FOLDER -- COMMAND ARG…
`
const START_TIMEOUT_MS = 60_000
const DIGEST_KEY_BYTES = 32

/** One server to record. */
type Recording = {
  /** Default: the name in the server's own `serverInfo`. */
  name?: string
  source: { package: string; version?: string; args: readonly string[]; env: string[] }
  upstream: Upstream
}

const env = Object.fromEntries(Object.entries(process.env).map(([name, value]) => [name, value ?? '']))
const say = (text: string) => void process.stderr.write(`${text}\n`)

process.exitCode = await main(process.argv.slice(2))

async function main(args: string[]): Promise<number> {
  const dashes = args.indexOf('--')
  const folder = dashes < 0 ? args.at(-1) : args[0]
  const sources = dashes < 0 ? args.slice(0, -1) : args.slice(dashes + 1)
  if (folder === undefined || sources.length === 0 || dashes > 1) {
    process.stderr.write(USAGE)
    return 2
  }
  mkdirSync(folder, { recursive: true })
  const life = new AbortController()
  process.once('SIGINT', () => life.abort())
  const reaper = startReaper()
  const counter = createTokenCounter()
  const count = (texts: readonly string[]) => counter.count(texts)
  const recordings = dashes < 0 ? await ofPaths(sources, reaper, life.signal) : [ofCommand(sources, reaper)]
  const done = await Promise.all(recordings.map(each => record(each, folder, count, life.signal)))
  await Promise.all([reaper.close(), counter.close()])
  return done.length > 0 && done.every(Boolean) ? 0 : 1
}

type Reaper = ReturnType<typeof startReaper>

function ofCommand([command = '', ...args]: string[], reaper: Reaper): Recording {
  const upstream = createStdioUpstream(
    {
      command,
      args,
      env,
      sessions: 'shared',
      startTimeoutMs: START_TIMEOUT_MS,
      idleAfterMs: START_TIMEOUT_MS,
      min: 0,
    },
    { clock: systemClock, reaper },
  )
  return { source: { package: command, args, env: [] }, upstream }
}

async function ofPaths(paths: string[], reaper: Reaper, signal: AbortSignal): Promise<Recording[]> {
  const files = new ManifestFiles(paths, env)
  const digestKey = randomBytes(DIGEST_KEY_BYTES)
  const reading = await readPaths({ files, env, digestKey, now: systemClock.now() })
  for (const { file, line, message } of reading.problems) say(`${file ?? ''}:${line ?? ''} ${message}`)
  const clock = systemClock
  const packages = createPackages({ folder: cacheFolder(env), env, clock, signal, onProgress: say })
  const log = createLog({ level: 'warn' })
  const tails = createStderrTails()
  const deps = {
    ...{ packages, reaper, clock, log, tails, env: inheritedEnvironment(env) },
    loginTokens: () => undefined,
  }
  return reading.servers
    .filter(({ inputs }) => inputs.problems.length === 0)
    .map(desired => ({
      name: desired.server.metadata.name,
      source: sourceOf(desired),
      upstream: launch(desired, deps),
    }))
}

function sourceOf({ server, inputs }: DesiredServer): Recording['source'] {
  return { ...describeSource(server.spec), env: Object.keys(inputs.env) }
}

function describeSource(spec: McpServer['spec']): Omit<Recording['source'], 'env'> {
  const { npm, pypi, image, remote, command } = spec
  const found = npm ?? pypi
  if (found) return { package: found.package, version: found.version, args: found.args }
  if (image) return { package: image.name, args: image.args }
  if (command) return { package: command.run, args: command.args }
  return { package: remote?.transport ?? 'remote', args: [] }
}

/** Writes the file of one server. If the server cannot be listed, prints the reason to stderr and returns false. */
async function record(
  { name, source, upstream }: Recording,
  folder: string,
  countTokens: (texts: readonly string[]) => Promise<number[]>,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    let catalog: ServerCatalog | undefined
    const options = { server: name ?? source.package, clock: systemClock, countTokens }
    for await (const next of discover(upstream, options, signal)) catalog = next
    if (!catalog) return false
    const file = join(folder, `${name ?? nameOf(catalog)}.json`)
    writeFileSync(file, `${JSON.stringify({ ...source, ...recorded(catalog) }, null, 1)}\n`)
    say(`${file}: ${catalog.tools.length} tools`)
    return true
  } catch (error) {
    say(`${name ?? source.package}: ${messageOf(error)}`)
    return false
  } finally {
    await upstream.close()
  }
}

function nameOf({ serverInfo }: ServerCatalog): string {
  const own = typeof serverInfo?.name === 'string' ? serverInfo.name : ''
  return own.toLowerCase().replace(/[^a-z0-9]+/g, '-') || 'server'
}

function recorded({ protocol, serverInfo, capabilities, instructions, tools }: ServerCatalog) {
  return {
    protocolVersion: protocol,
    serverInfo,
    capabilities,
    instructions,
    toolCount: tools.length,
    tokensO200k: tools.reduce((sum, tool) => sum + tool.tokens, 0),
    tools: tools.map(tool => tool.definition),
  }
}
