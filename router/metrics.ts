/** The router's metrics, in their own prom-client registry. docs/metrics.md says what each one means. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Clock } from '../core/async.ts'
import type { RouterServer, ServerState } from '../core/catalog/router-config.ts'
import type { ServerCatalog } from '../core/catalog/server-catalog.ts'
import { createHistogram } from '../core/histogram.ts'
import { createRegistry, SECONDS_BUCKETS, upTo } from '../core/metrics.ts'
import { type AccessMetrics, createAccessMetrics } from './access-metrics.ts'
import { createCallMetrics, MAX_SERVER_SERIES } from './call-metrics.ts'
import type { CallRecord, RouterObserver, ScriptRecord } from './observer.ts'
import { createScriptMetrics } from './script-metrics.ts'
import { createSemanticMetrics, type SemanticMetrics } from './semantic/semantic-metrics.ts'
import { createTokenSums, type TokenUses } from './token-use.ts'
import type { PoolMemberStatus } from './upstream/pool-member.ts'
import type { WaitOutcome } from './waking/wake-requests.ts'

export type DiscoveryRecord = { server: string; durationMs: number; ok: boolean }

export type RouterMetrics = Omit<RouterObserver, 'called' | 'searched' | 'missed' | 'scriptRan'> & {
  called(record: Omit<CallRecord, 'by'>): void
  searched(durationMs: number, hits: number): void
  scriptRan(record: Omit<ScriptRecord, 'by'>): void
  readonly access: AccessMetrics
  readonly semantic: SemanticMetrics
  registry: Registry
  /** A new catalog was swapped in after `durationMs` of building. */
  reloaded(catalog: CatalogFacts, durationMs: number): void
  /** A snapshot could not be built; the last good catalog stays. */
  reloadFailed(): void
  /** A server's lists were read. Reported only if discovery runs in this process. */
  discovered(record: DiscoveryRecord): void
  /** Calls begin to wait for a server to be woken. */
  waiting(server: string): void
  /** A call waited `waitedMs` for its server to be woken. */
  waited(server: string, outcome: WaitOutcome, waitedMs: number): void
  /** Tokens counted as direct and as served since the start. */
  tokens(): TokenUses
}

/** The properties of a catalog that the metrics read. */
export type CatalogFacts = {
  generation: number
  totals: { tools: number }
  servers: ReadonlyMap<string, RouterServer>
  catalogs: ReadonlyMap<string, ServerCatalog>
}

/** In seconds. A pod takes between one second and some tens of seconds to start. */
const WAIT_BUCKETS = [0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]
const BREAKER_STATES = { closed: 0, halfOpen: 1, open: 2 } as const
const STATES: ServerState[] = [
  'ready',
  'starting',
  'asleep',
  'failed',
  'authRequired',
  'suspended',
  'notAccepted',
]

/**
 * Creates the metrics. `members` and `missing` (what could not be read yet of the newest config) are called at each scrape. If
 * `missing` is given, discovery runs in another process, which then reports the age of lists.
 */
export function createRouterMetrics(
  clock: Clock,
  members: () => PoolMemberStatus[],
  missing?: () => string[],
): RouterMetrics {
  const registry = createRegistry('router')
  memberMetrics(registry, members)
  if (missing) {
    const help = 'Server lists and Secrets of the newest config that could not be read yet.'
    gauge(registry, 'portolan_catalog_missing', help, [], count => count.set(missing().length))
  }
  const catalog = catalogMetrics(registry, clock, missing === undefined)
  const called = createCallMetrics(registry)
  const search = histogram(registry, 'portolan_search_duration_seconds', 'Time of one search in the catalog.')
  return {
    registry,
    ...catalog,
    called,
    ...waitMetrics(registry),
    searched: durationMs => search.observe(durationMs / 1_000),
    ...tokenMetrics(registry),
    ...createScriptMetrics(registry),
    access: createAccessMetrics(registry),
    semantic: createSemanticMetrics(registry),
  }
}

function waitMetrics(registry: Registry): Pick<RouterMetrics, 'waiting' | 'waited'> {
  const series = createHistogram(registry, {
    name: 'portolan_wake_wait_seconds',
    help: 'Time that a call waited for its server to be woken, by outcome (woken, failed, left).',
    buckets: WAIT_BUCKETS,
  })
  const observerOf = upTo(MAX_SERVER_SERIES, server =>
    upTo(Number.POSITIVE_INFINITY, outcome => series({ server, outcome })),
  )
  return {
    // Creates the series of failures at 0: Prometheus would not see the first ones as an increase.
    waiting: server => void observerOf(server)('failed'),
    waited: (server, outcome, waitedMs) => observerOf(server)(outcome)(waitedMs / 1_000),
  }
}

/** Tokens saved have no counter of their own: they are the difference of the two, which may be negative. */
function tokenMetrics(registry: Registry): Pick<RouterMetrics, 'tokensDirect' | 'tokensServed' | 'tokens'> {
  const direct = counter(
    registry,
    'portolan_tokens_direct_total',
    'Tokens (o200k_base) that the visible tools would have cost, added at each tools/list.',
    ['profile'],
  )
  const served = counter(
    registry,
    'portolan_tokens_served_total',
    "Tokens (o200k_base) of the gateway's own answers.",
    ['profile', 'kind'],
  )
  const sums = createTokenSums()
  return {
    tokensDirect(profile, tokens) {
      direct.inc({ profile }, tokens)
      sums.addDirect(profile, tokens)
    },
    tokensServed(profile, kind, tokens) {
      served.inc({ profile, kind }, tokens)
      sums.addServed(profile, kind, tokens)
    },
    tokens: sums.read,
  }
}

/** Metrics of the servers that were called at least once or that calls wait for. */
function memberMetrics(registry: Registry, members: () => PoolMemberStatus[]): void {
  const perServer = (name: string, help: string, read: (member: PoolMemberStatus) => number) =>
    gauge(registry, name, help, ['server'], metric => {
      metric.reset()
      const used = members().filter(({ used, held }) => used || held)
      for (const member of used.slice(0, MAX_SERVER_SERIES))
        metric.set({ server: member.server }, read(member))
    })
  const held = 'Calls waiting for their server to be woken.'
  perServer('portolan_upstream_calls_held', held, member => member.held ?? 0)
  const waiting = 'Calls waiting for a free slot of their server.'
  perServer('portolan_upstream_queue_depth', waiting, member => member.waiting)
  perServer('portolan_upstream_calls_active', 'Calls that a server is working on.', member => member.active)
  const breaker = 'Whether calls are let through to a server: 0 all, 1 one probe (half open), 2 none (open).'
  perServer('portolan_upstream_breaker_state', breaker, member => BREAKER_STATES[member.breaker.state])
}

function catalogMetrics(registry: Registry, clock: Clock, discoversHere: boolean) {
  const reload = histogram(registry, 'portolan_reload_duration_seconds', 'Time to build and swap a catalog.')
  const failures = counter(
    registry,
    'portolan_reload_failures_total',
    'Snapshots that could not be built, where the last good catalog stayed, or that could not be fully adopted.',
  )
  const discovery = histogram(
    registry,
    'portolan_discovery_duration_seconds',
    'Time to read the lists of one server.',
    ['outcome'],
  )
  const generation = gauge(
    registry,
    'portolan_catalog_generation',
    'Generation of the catalog that is served.',
  )
  const tools = gauge(registry, 'portolan_catalog_tools', 'Tools that can be found and listed.')
  const servers = gauge(registry, 'portolan_servers', 'Servers by state.', ['state'])
  /** When each server's lists were last read; until that is reported, when they were first seen. */
  const listedAt = new Map<string, number>()
  gauge(registry, 'portolan_list_age_seconds', 'Age of the lists of each server.', ['server'], age => {
    age.reset()
    for (const [server, at] of listedAt) age.set({ server }, (clock.elapsed() - at) / 1_000)
  })
  return {
    reloaded(catalog: CatalogFacts, durationMs: number) {
      reload.observe(durationMs / 1_000)
      generation.set(catalog.generation)
      tools.set(catalog.totals.tools)
      const states = Map.groupBy(catalog.servers.values(), server => server.status.state)
      for (const state of STATES) servers.set({ state }, states.get(state)?.length ?? 0)
      for (const server of listedAt.keys()) if (!catalog.catalogs.has(server)) listedAt.delete(server)
      for (const server of catalog.catalogs.keys()) {
        if (discoversHere && !listedAt.has(server) && listedAt.size < MAX_SERVER_SERIES)
          listedAt.set(server, clock.elapsed())
      }
    },
    reloadFailed: () => failures.inc(),
    discovered({ server, durationMs, ok }: DiscoveryRecord) {
      discovery.observe({ outcome: ok ? 'ok' : 'failed' }, durationMs / 1_000)
      if (ok && (listedAt.has(server) || listedAt.size < MAX_SERVER_SERIES))
        listedAt.set(server, clock.elapsed())
    },
  }
}

function histogram<L extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: L[] = [],
): Histogram<L> {
  return new Histogram({ name, help, labelNames, buckets: SECONDS_BUCKETS, registers: [registry] })
}

function counter<L extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: L[] = [],
): Counter<L> {
  return new Counter({ name, help, labelNames, registers: [registry] })
}

function gauge<L extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: L[] = [],
  collect?: (gauge: Gauge<L>) => void,
): Gauge<L> {
  return new Gauge<L>({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      collect?.(this)
    },
  })
}
