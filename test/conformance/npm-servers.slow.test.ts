/** Real servers of npm as upstreams: each is installed, started and called once, and lists as many tools as were recorded; some also through a bridge. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, type TestContext, test } from 'node:test'
import { systemClock } from '../../core/async.ts'
import { cacheFolder } from '../../local/config.ts'
import type { LocalGateway } from '../../local/local-gateway.ts'
import { createPackages } from '../../local/packages/packages.ts'
import { startTestGateway } from '../support/local-gateway.ts'
import { createWorkspace, type Workspace } from '../support/manifests.ts'
import { callTool } from '../support/mcp.ts'
import { startBridgeProcess } from '../support/processes.ts'
import { RECORDED } from '../upstreams/replay/catalogs.ts'
import { NPM_SERVERS, type NpmServer } from './npm-servers.ts'

const AT_ONCE = 2
/** Of one server, its installation included. */
const LIMIT_MS = 600_000
/** Packages are kept from one run to the next, lists of tools are not. */
const CACHE = join(cacheFolder(process.env), 'npm-servers')

/** Outcomes of calls that the server has answered, if only with an error. All others are sentences of the gateway. */
const ANSWERED: ReadonlySet<string> = new Set(['ok', 'tool_error', 'upstream_error'])
/** What the gateway says if there was no valid answer. */
const LOST = /ended during the call|is not valid MCP/

type Recorded = { package: string; version: string; args: string[]; toolCount: number }

const skip = withoutRecorded()

before(() => {
  rmSync(join(CACHE, 'catalogs'), { recursive: true, force: true })
  mkdirSync(CACHE, { recursive: true })
})

describe('servers of npm', { concurrency: AT_ONCE, skip }, () => {
  for (const server of NPM_SERVERS) {
    test(`${server.recorded} lists as many tools as were recorded, and answers a call`, {
      timeout: LIMIT_MS,
    }, async t => {
      const space = workspace(t)
      const { package: name, version, args, env } = sourceOf(server, space)
      space.write('server', { npm: { package: name, version, args }, env })
      await judge(server, await startServer(t, space, server.plain))
    })
  }

  for (const server of NPM_SERVERS.filter(({ bridged }) => bridged)) {
    test(`${server.recorded} lists as many tools as were recorded, and answers a call, through a bridge`, {
      timeout: LIMIT_MS,
    }, async t => {
      const space = workspace(t)
      const { package: name, version, args } = sourceOf(server, space)
      const { signal } = new AbortController()
      const env = ownEnvironment()
      const packages = createPackages({
        folder: CACHE,
        env,
        clock: systemClock,
        signal,
        onProgress: () => {},
      })
      const { command, args: start } = await packages.ensure({ kind: 'npm', package: name, version })
      const bridge = await startBridgeProcess([], { run: command, args: [...start, ...args] }, space.cache)
      t.after(() => bridge.stop())
      space.write('server', { remote: { url: `${bridge.url}/mcp` } })
      await judge(server, await startServer(t, space))
    })
  }
})

function workspace(t: TestContext): Workspace {
  const space = createWorkspace()
  t.after(() => space.remove())
  return space
}

function recordedOf({ recorded }: NpmServer): Recorded {
  return JSON.parse(readFileSync(join(RECORDED, `${recorded}.json`), 'utf8'))
}

function sourceOf(server: NpmServer, space: Workspace) {
  const data = join(space.cache, 'data')
  mkdirSync(data, { recursive: true })
  for (const [name, text] of Object.entries(server.files ?? {})) writeFileSync(join(data, name), text)
  const recorded = recordedOf(server)
  const placed = (value: string) => value.replace(/^(?:FOLDER|\/data)/, data)
  const env = Object.entries(server.env ?? {}).map(([name, value]) => ({ name, value: placed(value) }))
  return { ...recorded, args: (server.args ?? recorded.args).map(placed), env }
}

async function startServer(t: TestContext, space: Workspace, plain = false): Promise<LocalGateway> {
  const gateway = await startTestGateway(space, {
    exposeServers: true,
    cacheFolder: CACHE,
    env: { ...ownEnvironment(), ...(plain && { npm_config_ignore_scripts: 'true' }) },
  })
  t.after(() => gateway.close())
  return gateway
}

async function judge(server: NpmServer, gateway: LocalGateway): Promise<void> {
  const [found] = gateway.status().servers
  assert.equal(found?.state, 'ready', JSON.stringify(found))
  assert.equal(found?.tools, server.tools?.count ?? recordedOf(server).toolCount, server.tools?.because)
  const route = new URL('/servers/server/mcp', gateway.url).href
  const answer = callTool(route, server.tool, server.arguments ?? {})
  const said = JSON.stringify(await answer.catch(error => String(error.message)))
  assert.match(said, server.says)
  const outcomes = await outcomesOf(gateway)
  assert.ok(outcomes.length === 1 && ANSWERED.has(outcomes[0] ?? ''), `${outcomes}: ${said}`)
  // An error of the protocol is an answer, but a call without a valid answer has the same outcome.
  assert.doesNotMatch(said, LOST)
}

/** How the calls of the server ended, as the gateway counts them. */
async function outcomesOf({ url }: LocalGateway): Promise<string[]> {
  const metrics = await (await fetch(new URL('/metrics', url))).text()
  const counts = metrics.matchAll(/^portolan_calls_total\{[^}]*outcome="(\w+)"[^}]*\} [1-9]/gm)
  return [...counts].map(([, outcome = '']) => outcome)
}

/** The whole environment, since npm may need the proxy or certificates that it names; but Puppeteer downloads no browser. */
function ownEnvironment(): Record<string, string> {
  const all = Object.entries({ ...process.env, PUPPETEER_SKIP_DOWNLOAD: '1' })
  return Object.fromEntries(all.map(([name, value]) => [name, value ?? '']))
}

function withoutRecorded(): string | false {
  if (existsSync(RECORDED)) return false
  if (process.env.CI) throw new Error(`recorded catalogs are required on CI and missing: ${RECORDED}`)
  process.stderr.write(`\n!!! ${RECORDED} is not there: the servers of npm were NOT tested.\n`)
  return 'no recorded catalogs'
}
