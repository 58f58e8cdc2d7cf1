/** Metrics of each McpServer and McpGateway: conditions, tools, age of lists, newest feed. Read from the caches at each scrape. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Clock } from '../../core/async.ts'
import { feedName } from '../../core/catalog/object-names.ts'
import { keyOf } from '../../core/kube/object.ts'
import { CONDITION, REASON } from '../../crds/conditions.ts'
import type { Caches, Manifest } from './caches.ts'

/** The outcome of reading the lists of one server. */
export type DiscoveryRecord = {
  /** `namespace/name`. */
  server: string
  ok: boolean
  durationMs: number
  /** How often they should be read. */
  intervalMs: number
}

export type ObjectCaches = Pick<Caches, 'servers' | 'gateways' | 'scripts'> & {
  configMaps: Pick<Caches['configMaps'], 'get'>
}

export type ObjectMetrics = {
  /** The lists of a server were read, or could not be read. */
  discovered(record: DiscoveryRecord): void
  /** A server, `namespace/name`, was asleep and is started. */
  woke(server: string): void
  /** Sets the caches to read from. Before that, there are no series. */
  watchObjects(caches: ObjectCaches): void
}

/** Objects per kind with series of their own; all are counted in `portolan_objects`. */
export const MAX_OBJECT_SERIES = 2_000

type Label = 'server' | 'gateway'
type Objects = () => readonly (readonly [key: string, object: Manifest])[]
type Line = readonly [labels: Record<string, string>, value: number]
type List = { readAt: number | undefined; intervalMs: number }

export function createObjectMetrics(registry: Registry, clock: Clock): ObjectMetrics {
  let caches: ObjectCaches | undefined
  const all = () =>
    [caches?.servers, caches?.gateways, caches?.scripts].flatMap(kind => [...(kind?.objects.values() ?? [])])
  const servers: Objects = () => [...(caches?.servers.objects ?? [])].slice(0, MAX_OBJECT_SERIES)
  const gateways: Objects = () => [...(caches?.gateways.objects ?? [])].slice(0, MAX_OBJECT_SERIES)
  exportCounts(registry, all)
  exportConditions(registry, 'server', servers)
  exportConditions(registry, 'gateway', gateways)
  exportTools(registry, servers)
  const lists = exportLists(registry, servers, clock)
  const sleep = exportSleep(registry, servers)
  const feeds = 'Newest generation of the feed for the routers of a gateway.'
  exportEach(registry, 'portolan_feed_generation', feeds, 'gateway', gateways, key => {
    const [namespace = '', gateway = ''] = key.split('/')
    const feed = caches?.configMaps.get(`${namespace}/${feedName(gateway)}`)
    return feed && Number(feed.metadata.resourceVersion)
  })
  return {
    discovered: lists.discovered,
    woke: sleep.woke,
    watchObjects(watched) {
      caches = watched
      watched.servers.onChange((before, now) => {
        if (!before || now) return
        lists.forget(keyOf(before))
        sleep.forget(keyOf(before))
      })
    },
  }
}

function exportCounts(registry: Registry, objects: () => readonly Manifest[]): void {
  const help = 'McpServers, McpGateways and McpScripts by status and reason of their condition Ready.'
  exportGauge(registry, 'portolan_objects', help, ['kind', 'ready', 'reason'], () => {
    const states = objects().map(({ kind, status }) => {
      const ready = status?.conditions?.find(({ type }) => type === CONDITION.ready)
      return { kind, ready: ready?.status ?? 'Unknown', reason: ready?.reason ?? '' }
    })
    const groups = Map.groupBy(states, state => JSON.stringify(state))
    return [...groups.values()].map(group => [group[0] ?? {}, group.length])
  })
}

function exportConditions(registry: Registry, label: Label, objects: Objects): void {
  const name = `portolan_${label}_condition`
  const help = `Conditions of each ${label}, with their reasons: 1 if it is True, else 0.`
  exportGauge(registry, name, help, ['namespace', label, 'type', 'reason'], () =>
    objects().flatMap(([key, { status }]) =>
      (status?.conditions ?? []).map(({ type, status, reason }): Line => {
        return [{ ...labelsOf(key, label), type, reason }, status === 'True' ? 1 : 0]
      }),
    ),
  )
}

function exportTools(registry: Registry, servers: Objects): void {
  const toolsOf = ({ status }: Manifest) => status?.tools as { count?: number; tokens?: number } | undefined
  const count = 'Tools that a server offers.'
  exportEach(
    registry,
    'portolan_server_tools',
    count,
    'server',
    servers,
    (_, server) => toolsOf(server)?.count,
  )
  const tokens = 'Tokens (o200k_base) of the definitions of the tools that a server offers.'
  const tokensOf = (_: string, server: Manifest) => toolsOf(server)?.tokens
  exportEach(registry, 'portolan_server_tool_tokens', tokens, 'server', servers, tokensOf)
}

/** Whether each server with `scaling.min: 0` is asleep, and how often each was woken; only the leader counts that. */
function exportSleep(registry: Registry, servers: Objects) {
  const wakes = new Map<string, number>()
  const asleep = 'Whether a server that may sleep is asleep: 1, or 0.'
  exportEach(registry, 'portolan_server_asleep', asleep, 'server', servers, (_, server) => {
    const { scaling } = (server.spec ?? {}) as { scaling?: { min?: number } }
    return scaling?.min === 0 ? Number(isAsleep(server)) : undefined
  })
  new Counter({
    name: 'portolan_wakes_total',
    help: 'How often a server was woken; counted by the leader.',
    labelNames: ['namespace', 'server'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [key, count] of wakes) this.inc(labelsOf(key, 'server'), count)
    },
  })
  return {
    woke(server: string) {
      if (wakes.has(server) || wakes.size < MAX_OBJECT_SERIES) wakes.set(server, (wakes.get(server) ?? 0) + 1)
    },
    forget: (server: string) => void wakes.delete(server),
  }
}

function isAsleep({ status }: Manifest): boolean {
  const ready = status?.conditions?.find(({ type }) => type === CONDITION.ready)
  return ready?.reason === REASON.asleep
}

/** Series of servers whose lists this operator has read; only the leader has them. */
function exportLists(registry: Registry, servers: Objects, clock: Clock) {
  const lists = new Map<string, List>()
  const perServer = (name: string, help: string, ms: (list: List) => number | undefined) =>
    exportEach(registry, name, help, 'server', servers, (key, server) => {
      // The lists of a server that sleeps are not read, so they are not overdue.
      const list = isAsleep(server) ? undefined : lists.get(key)
      const value = list && ms(list)
      return value === undefined ? undefined : value / 1_000
    })
  const age = 'Time since the lists of a server were last read; reported by the leader.'
  perServer('portolan_list_age_seconds', age, ({ readAt }) =>
    readAt === undefined ? undefined : clock.elapsed() - readAt,
  )
  const interval = 'How often the lists of a server should be read.'
  perServer('portolan_list_interval_seconds', interval, ({ intervalMs }) => intervalMs)
  return {
    discovered({ server, ok, intervalMs }: DiscoveryRecord) {
      const readAt = ok ? clock.elapsed() : lists.get(server)?.readAt
      lists.set(server, { readAt, intervalMs })
    },
    forget: (server: string) => void lists.delete(server),
  }
}

/** One series for each object whose `numberOf` is defined. */
function exportEach(
  registry: Registry,
  name: string,
  help: string,
  label: Label,
  objects: Objects,
  numberOf: (key: string, object: Manifest) => number | undefined,
): void {
  exportGauge(registry, name, help, ['namespace', label], () =>
    objects().flatMap(([key, object]) => {
      const value = numberOf(key, object)
      return value === undefined ? [] : [[labelsOf(key, label), value] as const]
    }),
  )
}

function exportGauge(
  registry: Registry,
  name: string,
  help: string,
  labelNames: string[],
  lines: () => Line[],
): void {
  new Gauge({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset()
      for (const [labels, value] of lines()) this.set(labels, value)
    },
  })
}

function labelsOf(key: string, label: Label): Record<string, string> {
  const [namespace = '', name = ''] = key.split('/')
  return { namespace, [label]: name }
}
