/** What metrics say of each McpServer and McpGateway: conditions, tools, age of the list, newest feed. Read from the caches at each scrape. */
import { Gauge, type Registry } from 'prom-client'
import type { Clock } from '../../core/async.ts'
import { feedName } from '../../core/catalog/object-names.ts'
import type { Caches, Manifest } from './caches.ts'

/** The lists of one server were read, or could not be. */
export type DiscoveryRecord = {
  /** `namespace/name`. */
  server: string
  ok: boolean
  durationMs: number
  /** How often they are to be read. */
  intervalMs: number
}

export type ObjectCaches = Pick<Caches, 'servers' | 'gateways'> & {
  configMaps: Pick<Caches['configMaps'], 'get'>
}

/** Of each kind; objects beyond are in `portolan_objects` alone. */
export const MAX_OBJECT_SERIES = 2_000

const SERVER = ['namespace', 'server']
const GATEWAY = ['namespace', 'gateway']

export type ObjectMetrics = {
  discovered(record: DiscoveryRecord): void
  /** What is looked at from now on; before, nothing is said. */
  watchObjects(caches: ObjectCaches): void
}

export function createObjectMetrics(registry: Registry, clock: Clock): ObjectMetrics {
  let caches: ObjectCaches | undefined
  const lists = new Map<string, { readAt: number; intervalMs: number }>()
  const servers = () => [...(caches?.servers.objects ?? [])].slice(0, MAX_OBJECT_SERIES)
  const gateways = () => [...(caches?.gateways.objects ?? [])].slice(0, MAX_OBJECT_SERIES)
  countObjects(registry, () =>
    [caches?.servers, caches?.gateways].flatMap(one => [...(one?.objects.values() ?? [])]),
  )
  tellConditions(registry, 'server', 'An McpServer', servers)
  tellConditions(registry, 'gateway', 'An McpGateway', gateways)
  const tell = (name: string, help: string, labelNames: string[], valuesOf: () => Value[]) =>
    askedAtScrape(registry, { name, help, labelNames }, valuesOf)
  const toolsOf = (field: 'count' | 'tokens') => () =>
    servers().map(([key, { status }]): Value => [labelsOf(key, 'server'), toolFacts(status)[field]])
  tell('portolan_server_tools', 'Tools that a server offers.', SERVER, toolsOf('count'))
  tell('portolan_server_tool_tokens', 'Tokens (o200k_base) of their definitions.', SERVER, toolsOf('tokens'))
  const listsOf = (value: (list: { readAt: number; intervalMs: number }) => number) => () =>
    servers().map(([key]): Value => {
      const list = lists.get(key)
      return [labelsOf(key, 'server'), list && value(list) / 1_000]
    })
  const age = 'Time since the lists of a server were last read; told by the operator that leads.'
  tell('portolan_list_age_seconds', age, SERVER, () => {
    for (const key of lists.keys()) if (!caches?.servers.objects.has(key)) lists.delete(key)
    return listsOf(({ readAt }) => clock.now() - readAt)()
  })
  tell(
    'portolan_list_interval_seconds',
    'How often they are to be read.',
    SERVER,
    listsOf(({ intervalMs }) => intervalMs),
  )
  tell(
    'portolan_feed_generation',
    'Newest generation that is written for the routers of a gateway.',
    GATEWAY,
    () => gateways().map(([key]): Value => [labelsOf(key, 'gateway'), caches && feedGeneration(caches, key)]),
  )
  return {
    watchObjects: watched => {
      caches = watched
    },
    discovered({ server, ok, intervalMs }) {
      // Where the first attempt fails, nobody knows how old the list is: it ages from there.
      const readAt = ok ? clock.now() : (lists.get(server)?.readAt ?? clock.now())
      lists.set(server, { readAt, intervalMs })
    },
  }
}

type Labels = Record<string, string>
/** Without a number there is no line. */
type Value = [labels: Labels, value: number | undefined]

function countObjects(registry: Registry, objects: () => Manifest[]): void {
  const help = 'McpServers and McpGateways by status and reason of their condition Ready.'
  const labelNames = ['kind', 'ready', 'reason']
  askedAtScrape(registry, { name: 'portolan_objects', help, labelNames }, () => {
    const labelsOfObject = ({ kind, status }: Manifest): Labels => {
      const condition = status?.conditions?.find(({ type }) => type === 'Ready')
      return { kind, ready: condition?.status ?? 'Unknown', reason: condition?.reason ?? '' }
    }
    const groups = Map.groupBy(objects().map(labelsOfObject), labels => JSON.stringify(labels))
    return [...groups.values()].map((group): Value => [group[0] ?? {}, group.length])
  })
}

function tellConditions(
  registry: Registry,
  label: 'server' | 'gateway',
  what: string,
  objects: () => [key: string, object: Manifest][],
): void {
  const name = `portolan_${label}_condition`
  const help = `${what}'s condition: 1 where it is true, with its reason.`
  askedAtScrape(registry, { name, help, labelNames: ['namespace', label, 'type', 'reason'] }, () =>
    objects().flatMap(([key, { status }]) =>
      (status?.conditions ?? []).map(({ type, status, reason }): Value => {
        return [{ ...labelsOf(key, label), type, reason }, status === 'True' ? 1 : 0]
      }),
    ),
  )
}

function askedAtScrape(
  registry: Registry,
  metric: { name: string; help: string; labelNames: string[] },
  valuesOf: () => Value[],
): void {
  new Gauge({
    ...metric,
    registers: [registry],
    collect() {
      this.reset()
      for (const [labels, value] of valuesOf()) if (value !== undefined) this.set(labels, value)
    },
  })
}

function labelsOf(key: string, label: 'server' | 'gateway'): Labels {
  const [namespace = '', name = ''] = key.split('/')
  return { namespace, [label]: name }
}

function toolFacts(status: Manifest['status']): { count?: number; tokens?: number } {
  const { tools } = (status ?? {}) as { tools?: { count?: number; tokens?: number } }
  return tools ?? {}
}

function feedGeneration({ configMaps }: ObjectCaches, key: string): number | undefined {
  const [namespace = '', name = ''] = key.split('/')
  const version = configMaps.get(`${namespace}/${feedName(name)}`)?.metadata.resourceVersion
  return version === undefined ? undefined : Number(version)
}
