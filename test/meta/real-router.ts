/** A whole router in front of real servers, whose catalogs are read by the code of discovery. */
import type { TestContext } from 'node:test'
import { systemClock } from '../../core/async.ts'
import type { Profile, RouterConfig, RouterServer } from '../../core/catalog/router-config.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { createLog } from '../../core/log.ts'
import { type ConnectorOptions, createConnector } from '../../core/mcp/client/connector.ts'
import { discover } from '../../core/mcp/discovery/discover.ts'
import type { Upstream } from '../../core/mcp/upstream.ts'
import type { ConnectedUser } from '../../core/mcp/user.ts'
import { estimateTokens } from '../../router/catalog/estimate.ts'
import { type Router, type RouterOptions, startRouter } from '../../router/router.ts'
import { createInProcessSource } from '../../router/source/in-process-source.ts'
import { until } from '../support/until.ts'
import { serverOf, snapshotOf } from './fixture.ts'

export type RealServer = {
  sessions?: RouterServer['sessions']
  users?: RouterServer['users']
  /** Over streamable HTTP. */
  url?: string
  /** Over HTTP, with all settings of an endpoint; instead of `url`. */
  endpoint?: RouterServer['endpoint']
  /** Over stdio. */
  make?: () => Upstream
}

export type RealRouter = {
  router: Router
  /** The address of a profile, or of one server alone. */
  at(route: Profile | { server: string }): string
  /** Discovers the servers again, and serves what is found. */
  reload(): Promise<void>
}

/** Resolves when the router has the servers' catalogs; it is closed after the test. */
export async function startRealRouter(
  t: TestContext,
  servers: Record<string, RealServer>,
  config: Partial<RouterConfig> = {},
  log = createLog({ level: 'silent' }),
  options: Partial<RouterOptions> = {},
  secret: ConnectorOptions['secret'] = () => undefined,
): Promise<RealRouter> {
  const remote = createConnector({ secret, clock: systemClock })
  const connect: Connect = (server, user) => servers[server.name]?.make?.() ?? remote(server, user)
  const known = Object.entries(servers).map(
    ([name, { url, endpoint: given, users, sessions = 'shared' }]) => {
      const plain =
        url !== undefined && ({ kind: 'http', url, transport: 'streamable-http', revision: '1' } as const)
      const endpoint = given ?? plain
      if (!endpoint) return serverOf(name, { sessions })
      return serverOf(name, { endpoint, sessions, users, transport: 'http' })
    },
  )
  const source = createInProcessSource()
  const router = await startRouter({
    source,
    connect,
    host: '127.0.0.1',
    port: 0,
    log,
    ...options,
  })
  t.after(() => router.close(0))
  let generation = 0
  const reload = async () => {
    const catalogs = new Map<string, ServerCatalog>()
    for (const server of known) catalogs.set(server.name, await catalogOf(connect, server))
    const profiles = { allowedProfiles: ['search', 'registry', 'direct'] } as const
    const { config: base } = snapshotOf({}, { allowedProfiles: [...profiles.allowedProfiles], ...config }, 1)
    source.publish({ generation: ++generation, config: { ...base, servers: known }, catalogs })
    await until(() => router.catalog()?.generation === generation)
  }
  await reload()
  const path = (route: Parameters<RealRouter['at']>[0]) =>
    typeof route === 'object' ? `/servers/${route.server}/mcp` : `/mcp/${route}`
  return { router, at: route => new URL(path(route), router.url).href, reload }
}

type Connect = (server: RouterServer, user?: ConnectedUser) => Upstream

async function catalogOf(connect: Connect, server: RouterServer): Promise<ServerCatalog> {
  const upstream = connect(server)
  const countTokens = async (texts: readonly string[]) => texts.map(text => estimateTokens(text))
  try {
    let last: ServerCatalog | undefined
    const options = { server: server.name, clock: systemClock, countTokens }
    for await (const found of discover(upstream, options, new AbortController().signal)) last = found
    return last as ServerCatalog
  } finally {
    await upstream.close()
  }
}
