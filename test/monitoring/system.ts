/** Operator, router and servers as they run together, on a real API server and without pods, with agents at work. */
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { systemClock } from '../../core/async.ts'
import { createLog } from '../../core/log.ts'
import { createConnector } from '../../core/mcp/client/connector.ts'
import { accessRules, auth } from '../../crds/access.ts'
import { startRouter } from '../../router/router.ts'
import { createKubernetesSource } from '../../router/source/kubernetes-source.ts'
import { createWorld, isReady, reasonOf, type World } from '../operator/world.ts'
import type { ApiServer } from '../support/api-server.ts'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'
import { startSdk1 } from '../upstreams/http/sdk1.ts'
import type { Target } from './scrape.ts'

export const NAMESPACE = 'monitoring'
export const GATEWAY = 'tools'
/** One that answers, one whose connection is lost after its tools were read, one that cannot be reached, one that may sleep and cannot be woken. */
export const WELL = 'well'
export const LOST = 'lost'
export const DOWN = 'down'
export const SLEEPER = 'sleeper'
const PAUSE_MS = 100
/** With rules and an issuer, so that there are metrics of decisions and keys; the issuer cannot be reached. */
export const WITH_CALLERS = {
  url: 'https://mcp.example.com',
  auth: auth.parse({
    anonymous: 'Allow',
    jwt: [{ name: 'away', issuer: 'http://127.0.0.1:9', audiences: ['https://mcp.example.com/mcp'] }],
  }),
  access: accessRules.parse([{ name: 'all' }]),
}

export type System = {
  /** Where metrics can be scraped. */
  targets: Target[]
  /** Agents list, search, and make calls that succeed and calls that fail, until `signal` aborts. */
  work(signal: AbortSignal): Promise<void>
}

/** Ends with the test. */
export async function startSystem(t: TestContext, api: ApiServer): Promise<System> {
  const upstream = await startSdk1('stateful')
  t.after(() => upstream.close())
  const world = await createWorld(t, api.access, NAMESPACE, {
    connectors: { server: connectorTo(SLEEPER, upstream.url) },
  })
  await startServers(t, world)
  const router = await startFedRouter(t, world)
  await until('all servers are in the catalog', async () => (router.catalog()?.totals.servers ?? 0) === 4)
  const port = router.adminAddress?.port
  const labels = { namespace: NAMESPACE }
  return {
    targets: [
      {
        job: 'operator',
        address: `127.0.0.1:${world.operator().port}`,
        labels: { ...labels, pod: 'operator-1' },
        honorLabels: true,
      },
      {
        job: 'routers',
        address: `127.0.0.1:${port}`,
        labels: { ...labels, pod: 'router-1', gateway: GATEWAY },
      },
    ],
    work: signal => work(router.url, world, signal),
  }
}

async function startServers(t: TestContext, world: World): Promise<void> {
  const [well, lost] = await Promise.all([startSdk1('stateful'), startSdk1('stateful')])
  t.after(() => well.close())
  await world.server(WELL, { remote: { url: well.url } })
  await world.server(LOST, { remote: { url: lost.url } })
  await world.server(DOWN, { remote: { url: `http://127.0.0.1:${await freePort()}/mcp` } })
  // Agents' calls wait for its pod, which is never created.
  await world.server(SLEEPER, {
    image: { name: 'sleeper:1', command: ['/sleeper'] },
    scaling: { min: 0 },
    limits: { startTimeout: '500ms' },
  })
  await world.until(SLEEPER, server => reasonOf(server, 'Ready') === 'Starting')
  await world.roll(`mcp-${SLEEPER}`, 1)
  await world.until(SLEEPER, isReady)
  await world.gateway(GATEWAY, WITH_CALLERS)
  await world.until(WELL, isReady)
  await world.until(LOST, isReady)
  await world.until(DOWN, server => reasonOf(server, 'Ready') === 'Unreachable')
  await lost.close()
}

/** The operator reaches this server at `url`. */
function connectorTo(name: string, url: string): typeof createConnector {
  return options => {
    const connect = createConnector(options)
    return given => {
      const { revision } = given.endpoint
      const endpoint = { kind: 'http', url, transport: 'streamable-http', revision } as const
      return connect(given.name === name ? { ...given, endpoint } : given)
    }
  }
}

async function startFedRouter(t: TestContext, { client, namespace }: World) {
  const log = createLog({ level: 'silent' })
  const source = createKubernetesSource({ client, namespace, gateway: GATEWAY, log })
  const life = new AbortController()
  const host = '127.0.0.1'
  const router = await startRouter({
    source,
    connect: createConnector({ secret: source.secret, clock: systemClock }),
    host,
    port: 0,
    log,
    admin: { host, port: 0, pod: 'router-1', gateway: GATEWAY, missing: source.missing },
  })
  const running = source.run(life.signal)
  t.after(async () => {
    await router.close(0)
    life.abort()
    await running
  })
  return router
}

async function work(url: string, world: World, signal: AbortSignal): Promise<void> {
  for (let round = 0; !signal.aborted; round++) {
    const client = new Client({ name: 'agent', version: '1.0.0' })
    await client.connect(new StreamableHTTPClientTransport(new URL(url)))
    try {
      await useAll(client)
    } finally {
      await client.close()
    }
    // A change for the operator to write, and for routers to take on.
    await world.server(DOWN, {
      remote: { url: `http://127.0.0.1:9/mcp` },
      description: `Changed ${round} times`,
    })
    await sleep(PAUSE_MS, undefined, { signal }).catch(() => {})
  }
}

async function useAll(client: Client): Promise<void> {
  const use = (name: string, args: Record<string, unknown>) => client.callTool({ name, arguments: args })
  const call = (tool_path: string, args: Record<string, unknown> = {}) =>
    use('execute_mcp_tool', { tool_path, arguments: args })
  await client.listTools()
  await use('discover_mcp_tools', { query: 'echo a text' })
  await use('list_mcp_resources', {})
  await call(`${WELL}:echo`, { text: 'hello' })
  await call(`${WELL}:echo`, { wrong: true })
  await call(`${WELL}:nothing`)
  await call(`${LOST}:count`)
  await call(`${SLEEPER}:echo`, { text: 'hello' })
}
