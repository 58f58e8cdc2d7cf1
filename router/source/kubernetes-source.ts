/** The source of a router in a cluster: one watch on its feed, slices and Secrets read by name. Reads nothing else and never writes. */
import type { V1ConfigMap } from '@kubernetes/client-node'
import { type Clock, systemClock } from '../../core/async.ts'
import type { RouterFeed } from '../../core/catalog/feed.ts'
import { decodeFeed, FEED_FORMAT } from '../../core/catalog/feed-text.ts'
import { feedName } from '../../core/catalog/object-names.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { Fault, messageOf } from '../../core/errors.ts'
import { readCatalog } from '../../core/kube/catalog.ts'
import type { KubeReader } from '../../core/kube/client.ts'
import { ListWatch } from '../../core/kube/list-watch.ts'
import type { Kube } from '../../core/kube/object.ts'
import { readSecret, type SecretValues } from '../../core/kube/secret.ts'
import type { Log } from '../../core/log.ts'
import { createAssembly } from './assembly.ts'
import { LastGood } from './last-good.ts'
import type { Source } from './source.ts'

export type KubernetesSource = Source & {
  /** Reads until `signal` aborts; never rejects. To be called once. */
  run(signal: AbortSignal): Promise<void>
  /** The values of a Secret that the feed names, by key; undefined if it could not be read yet. */
  secret(name: string): SecretValues | undefined
  /** Servers whose newest slices, and Secrets whose newest version, were not read yet. */
  missing(): string[]
  /** Why the API server has refused to send changes for a while; undefined if it sends them, or cannot be reached at all. */
  stale(): string | undefined
}

export type KubernetesSourceOptions = {
  client: KubeReader
  namespace: string
  gateway: string
  log: Log
  clock?: Clock
  random?: () => number
}

/** The config counts as stale after refusals for this long: after a restart, the API server may refuse valid credentials for a short time. */
const STALE_MS = 30_000

type ConfigMap = Kube<V1ConfigMap>

export function createKubernetesSource(options: KubernetesSourceOptions): KubernetesSource {
  const { client, namespace, gateway, log, clock = systemClock, random } = options
  const onProgress = () => assembly.progress()
  const catalogs = new LastGood<ServerCatalog>({
    what: 'slices',
    read: (server, _digest, known, signal) => readCatalog(client, namespace, server, known, signal),
    onProgress,
    log,
    clock,
    random,
  })
  const secrets = new LastGood<SecretValues>({
    what: 'Secret',
    read: (name, _version, _known, signal) => existingSecret(options, name, signal),
    onProgress,
    log,
    clock,
    random,
  })
  const assembly = createAssembly({ catalogs, others: secrets, clock })
  const fieldSelector = `metadata.name=${feedName(gateway)}`
  const query = { apiVersion: 'v1', kind: 'ConfigMap', namespace, fieldSelector }
  const feeds = new ListWatch<ConfigMap>({ client, query, log, clock, random })
  feeds.onChange((_before, now) => {
    if (!now) return log.warn({ gateway }, 'the feed was deleted; its last content stays in use')
    const feed = readFeed(now, log)
    if (!feed) return
    catalogs.want(new Map(Object.entries(feed.slices).map(([server, { digest }]) => [server, digest])))
    secrets.want(new Map(Object.entries(feed.secrets)))
    assembly.adopt(Number(now.metadata.resourceVersion), feed.config)
  })
  return {
    watch: assembly.watch,
    async run(signal) {
      await feeds.run(signal)
      for (const part of [catalogs, secrets, assembly]) part.close()
    },
    secret: name => secrets.get(name),
    missing: () => [...catalogs.missing(), ...secrets.missing().map(name => `secret/${name}`)],
    stale() {
      const { refusal } = feeds
      return refusal && clock.elapsed() - refusal.since >= STALE_MS ? refusal.message : undefined
    },
  }
}

/** Reads the feed; an invalid one is logged, and the last good one stays. */
function readFeed(configMap: ConfigMap, log: Log): RouterFeed | undefined {
  try {
    const format = configMap.data?.format
    if (format !== FEED_FORMAT)
      throw new Fault(
        'invalid_data',
        `The feed has format ${format}; this router reads format ${FEED_FORMAT}`,
      )
    return decodeFeed(Buffer.from(configMap.binaryData?.feed ?? '', 'base64'))
  } catch (error) {
    const { resourceVersion } = configMap.metadata
    log.error(
      { error: messageOf(error), resourceVersion },
      'the feed cannot be read; the last good one stays',
    )
    return undefined
  }
}

/** Throws Fault `not_found` if the Secret does not exist. */
async function existingSecret(
  { client, namespace }: KubernetesSourceOptions,
  name: string,
  signal: AbortSignal,
): Promise<SecretValues> {
  const found = await readSecret(client, namespace, name, signal)
  if (!found) throw new Fault('not_found', `There is no Secret ${name}`)
  return found
}
