/** The local gateway: runs the servers of the manifests and a router, and feeds the router snapshots of their lists. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type Clock, systemClock } from '../core/async.ts'
import type { Profile, RouterConfig } from '../core/catalog/router-config.ts'
import type { ConsolePage } from '../core/console/page.ts'
import { anyHost, type HostGuard } from '../core/host-guard.ts'
import type { Log } from '../core/log.ts'
import { AnswerRoom } from '../core/mcp/answer-room.ts'
import { type Reaper, startReaper } from '../core/mcp/client/stdio/reaper.ts'
import type { Identity } from '../core/mcp/identity.ts'
import { readProxies } from '../core/proxies.ts'
import { createTokenCounter, type TokenCounter } from '../core/tokens.ts'
import type { Tracer } from '../core/trace.ts'
import type { Catalog } from '../router/catalog/catalog.ts'
import { servedTokens } from '../router/meta/profiles/profiles.ts'
import { type Router, type RouterOptions, startRouter } from '../router/router.ts'
import { createInProcessSource, type InProcessSource } from '../router/source/in-process-source.ts'
import { createTokenSums } from '../router/token-use.ts'
import { type Approvals, createApprovals } from './approvals.ts'
import { callerCredentials } from './caller-tokens.ts'
import { type CatalogCache, createCatalogCache } from './catalog-cache.ts'
import { Children } from './children.ts'
import { createConsoleHost } from './console-host.ts'
import { desire } from './desire.ts'
import { ManifestFiles } from './files.ts'
import type { GatewaySecrets } from './gateway-secrets.ts'
import { launch } from './launch-server.ts'
import { deleteLeftovers } from './leftovers.ts'
import { type LocalStatus, plainStatus, statusOf } from './local-status.ts'
import { createLocalLogins, type LocalLogins } from './logins/local-logins.ts'
import { overridden } from './overrides.ts'
import { createPackages, type Packages } from './packages/packages.ts'
import { Publisher } from './publisher.ts'
import type { Reading } from './read.ts'
import { type Findings, Reloader } from './reloader.ts'
import { semanticDependencies } from './semantic-search.ts'
import type { DiscoveryDeps } from './server-discovery.ts'
import { sessionKey } from './session-key.ts'
import { createSlots } from './start-slots.ts'
import { createStderrTails, type StderrTails } from './stderr-tails.ts'
import { watch } from './watch.ts'

/** Limit of concurrent process starts. A start that hangs keeps its slot for at most `maxHoldMs`. */
const STARTS = { count: 8, maxHoldMs: 5_000 }
const DIGEST_KEY_BYTES = 32

export type LocalOptions = {
  paths: readonly string[]
  host: string
  port: number
  /** Overrides the gateway's default profile. */
  profile?: Profile
  /** Profiles to serve in addition to those that the gateway allows. */
  allowedProfiles?: readonly Profile[]
  /** Name of the McpGateway; needed if there are several. */
  gateway?: string
  secretsFolder?: string
  /** Only callers with this token are admitted, unless the gateway has an `auth` of its own. */
  token?: string
  /** The identity of callers without a credential. */
  as?: Identity
  /** Runs scripts even if the gateway does not enable them. */
  runsScripts?: boolean
  /** Serves /servers/<name>/mcp even if the gateway does not enable it. */
  exposeServers?: boolean
  /** false: the paths are read only once. */
  watch: boolean
  cacheFolder: string
  env: Readonly<Record<string, string>>
  log: Log
  /** Called with a sentence about slow work, such as an installation. */
  onProgress: (message: string) => void
  /** Called when problems of the manifests appear or are solved. */
  onFindings: (findings: Findings) => void
  /** Absent: nothing is traced. The caller closes it. */
  tracer?: Tracer
  /** Where audit lines are written; see the router's option. */
  auditStream?: RouterOptions['auditStream']
  /** The console's page. Absent: no console is served. */
  page?: ConsolePage
  clock?: Clock
}

export type LocalGateway = {
  url: string
  /** The address of the console for a browser on this machine; undefined if none is served. */
  consoleUrl?: string
  /** Whether every server has a list, cached or discovered, or has failed. */
  ready(): boolean
  /** Number of packages that are being installed. */
  installing(): number
  status(): LocalStatus
  /** These two are as in Router. */
  users: Router['users']
  endUser: Router['endUser']
  /** The served catalog; undefined before the first list. */
  catalog(): Catalog | undefined
  /** Stops the router after its calls in flight, then every server. Idempotent. */
  close(): Promise<void>
}

/**
 * Resolves when the port is open; servers begin to start before that. Throws Fault `io` if it cannot listen, `bad_request` if no gateway can be
 * chosen or the URL of a proxy is invalid.
 */
export async function startLocal(options: LocalOptions): Promise<LocalGateway> {
  const laptop = assemble(options, options.clock ?? systemClock)
  try {
    await begin(laptop, options)
  } catch (error) {
    await end(laptop)
    throw error
  }
  let closing: Promise<void> | undefined
  return {
    url: laptop.router?.url ?? '',
    consoleUrl: options.page && laptop.router?.url.replace(/mcp$/, ''),
    ready: () => isReady(laptop),
    installing: () => laptop.packages.installing(),
    status: () => status(laptop),
    users: () => laptop.router?.users() ?? [],
    endUser: (server, user) => laptop.router?.endUser(server, user) ?? false,
    catalog: () => laptop.router?.catalog(),
    close() {
      closing ??= end(laptop)
      return closing
    },
  }
}

/** The parts of a running gateway, in the order of their start; they stop in reverse order. */
type Laptop = {
  clock: Clock
  /** How remote servers, issuers and embeddings services are reached. Undefined: directly. */
  hosts?: HostGuard
  life: AbortController
  packages: Packages
  cache: CatalogCache
  approvals: Approvals
  tails: StderrTails
  logins: LocalLogins
  tokens: TokenCounter
  reaper: Reaper
  files: ManifestFiles
  source: InProcessSource
  children: Children
  publisher: Publisher
  reloader: Reloader
  router?: Router
  stopWatching: (() => Promise<void>)[]
  /** Resolved once the first catalog is served. */
  started: PromiseWithResolvers<void>
  wasReady: boolean
  /** The Secrets of the gateway, from the manifests that were read last. */
  secrets?: GatewaySecrets
}

function assemble(options: LocalOptions, clock: Clock): Laptop {
  const { env, onFindings, onProgress, cacheFolder } = options
  const assumed = options.as !== undefined
  const hosts = anyHost(readProxies(env))
  const life = new AbortController()
  const tokens = createTokenCounter(clock)
  const reaper = startReaper()
  const files = new ManifestFiles(options.paths, env, options)
  const source = createInProcessSource()
  const installing = { folder: cacheFolder, env, signal: life.signal }
  const packages = createPackages({ ...installing, clock, reaper, onProgress })
  const cache = createCatalogCache(join(cacheFolder, 'catalogs'))
  const approvals = createApprovals(cacheFolder)
  const parts = { hosts, packages, cache, approvals, clock, life, tokens, reaper, files, source }
  const logins = createLocalLogins({ ...options, clock, hosts, running: () => laptop })
  const started = Promise.withResolvers<void>()
  const base = { ...parts, logins, tails: createStderrTails(), started, stopWatching: [], wasReady: false }
  const children: Children = createChildren(options, base, {
    started: started.promise,
    onChange: () => laptop.publisher.publishSoon(),
    onDiscovered: (server, durationMs, ok) => laptop.router?.metrics.discovered({ server, durationMs, ok }),
  })
  const override = (config: RouterConfig) => overridden(config, options)
  const countTokens = (texts: readonly string[]) => tokens.count(texts)
  const nothing = desire([], undefined, clock.now())
  const { gateway, secretsFolder, runsScripts, log } = options
  const publishing = { source, clock, children, countTokens, override, assumed, runsScripts, log }
  const publisher = new Publisher(publishing, nothing)
  const onRead = ({ servers, desired, secrets }: Reading) => {
    laptop.secrets = secrets
    children.apply(servers)
    logins.update(desired.servers)
    publisher.setDesired(desired)
  }
  const digestKey = randomBytes(DIGEST_KEY_BYTES)
  const reading = { env, gateway, secretsFolder, assumed, runsScripts, digestKey }
  const reloader = new Reloader({ ...reading, files, clock, onRead, onFindings })
  const laptop: Laptop = { ...base, children, publisher, reloader }
  return laptop
}

function createChildren(
  { env, log, tracer }: LocalOptions,
  laptop: Omit<Laptop, 'children' | 'publisher' | 'reloader'>,
  hooks: Pick<DiscoveryDeps, 'started' | 'onChange' | 'onDiscovered'>,
): Children {
  const { clock, hosts, tokens, reaper, packages, cache, approvals, tails, logins } = laptop
  const room = new AnswerRoom()
  const launching = { packages, reaper, clock, log, env, tails, hosts, room, loginTokens: logins.tokens }
  const starts = createSlots({ ...STARTS, clock })
  const countTokens = (texts: readonly string[]) => tokens.count(texts)
  return new Children({
    approvals,
    launch: (desired, user) => launch(desired, launching, user),
    discovery: { clock, random: Math.random, countTokens, cache, starts, log, tracer, ...hooks },
  })
}

async function begin(laptop: Laptop, options: LocalOptions): Promise<void> {
  const { host, port, log, cacheFolder } = options
  const { clock, hosts, source, children, reloader, publisher } = laptop
  await reloader.reload()
  laptop.router = await startRouter({
    source,
    connect: (server, user) => children.connect(server, user),
    onUnavailable: server => children.retryIfFailed(server),
    host,
    port,
    log,
    clock,
    sessionKey: await sessionKey(cacheFolder),
    credentials: {
      ...callerCredentials(options.token, () => laptop.secrets?.callerTokens),
      remotes: { proxyFor: hosts?.proxyFor },
    },
    assumed: options.as,
    semantic: semanticDependencies(options, hosts, () => laptop.secrets?.embeddingsKey),
    search: publisher.desired().config.search,
    ready: () =>
      isReady(laptop) ? { ready: true } : { ready: false, reason: 'some servers have no list yet' },
    debugStatus: () => plainStatus(status(laptop)),
    tracer: options.tracer,
    auditStream: options.auditStream,
    logins: laptop.logins.pages,
    console: options.page && {
      page: options.page,
      host: createConsoleHost({ ...laptop, isReady: () => isReady(laptop) }),
    },
  })
  laptop.logins.open(laptop.router.address.port)
  // The first catalog has all cached lists. What the first search does not need comes after it.
  await children.cacheRead()
  publisher.publish()
  await laptop.router.firstCatalog
  laptop.started.resolve()
  laptop.cache.prune().catch(err => log.warn({ err }, 'old cached lists could not be deleted'))
  void deleteLeftovers(cacheFolder, clock.now())
  if (options.watch) await watch(laptop, options)
}

/** Closes all parts, also if one of them fails. Rejects with the error of the router. */
async function end(laptop: Laptop): Promise<void> {
  const { life, stopWatching, publisher, router, children, logins, tokens, reaper } = laptop
  life.abort()
  await Promise.allSettled(stopWatching.map(stop => stop()))
  publisher.close()
  try {
    await router?.close()
  } finally {
    await Promise.allSettled([children.close()])
    await Promise.allSettled([logins.close(), tokens.close(), reaper.close()])
  }
}

/** Becomes true once every server has a list or has failed and the router serves these lists; stays true from then on. */
function isReady(laptop: Laptop): boolean {
  const { publisher, children, router } = laptop
  const { generation, pending } = publisher.progress()
  laptop.wasReady ||= children.settled() && !pending && router?.catalog()?.generation === generation
  return laptop.wasReady
}

function status(laptop: Laptop): LocalStatus {
  const { publisher, children, reloader, router } = laptop
  // The status shows what the router serves, which can be older than the newest snapshot.
  const served = router?.catalog()
  const config = served?.config ?? publisher.config()
  return statusOf({
    config,
    catalogs: served?.catalogs ?? new Map(),
    offered: new Map(served?.parts.map(({ server, tools }) => [server, tools])),
    observed: server => children.observed(server),
    ready: isReady(laptop),
    profileTokens: served ? servedTokens(served) : {},
    usedTokens: router?.metrics.tokens() ?? createTokenSums().read(),
    problems: reloader.problems(),
    search: router?.search() ?? { semantic: 'off', pending: 0 },
  })
}
