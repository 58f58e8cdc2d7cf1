/** The console's view of the operator's caches: all gateways and servers, the routers of a gateway, manifests. */
import type { V1Pod } from '@kubernetes/client-node'
import type { ConsoleClusterEvents } from '../../core/console/shapes.ts'
import { shownManifest } from '../../core/console/shown-manifest.ts'
import type { Kube } from '../../core/kube/object.ts'
import { isPodReady } from '../../core/kube/pod.ts'
import type { McpServer } from '../../crds/server.ts'
import packageJson from '../../package.json' with { type: 'json' }
import type { Caches } from '../runtime/caches.ts'
import { type RouterPodCaches, routerPods } from '../runtime/router-pods.ts'
import { gatewayLine, serverLine } from './cluster-lines.ts'

export type ClusterView = {
  /** Grows with every change of a gateway or server. */
  version(): number
  /** `withServers`: includes the list of servers, which only the page about all gateways shows. */
  state(withServers: boolean): ConsoleClusterEvents['cluster']
  hasGateway(gateway: GatewayPlace): boolean
  /** Its ready routers, sorted by name; at most 16. */
  routers(gateway: GatewayPlace): Router[]
  /** The manifest of a server as YAML; undefined if there is no such server. */
  manifest(namespace: string, server: string): string | undefined
  close(): void
}

export type GatewayPlace = { namespace: string; name: string }
export type Router = { pod: string; address: string }

/** Limit of gateways and of servers that are sent. Those that are not ready come first. */
const MAX_LINES = 5_000
/** How many routers of a gateway a page shows. */
const MAX_ROUTERS = 16

type ViewCaches = RouterPodCaches & Pick<Caches, 'servers'>

export function createClusterView(caches: ViewCaches): ClusterView {
  let version = 0
  const changed = () => void version++
  const stops = [caches.gateways.onChange(changed), caches.servers.onChange(changed)]
  return {
    version: () => version,
    state: withServers => ({
      version: packageJson.version,
      gateways: firstOf([...caches.gateways.objects.values()].map(gatewayLine)),
      servers: withServers ? firstOf([...caches.servers.objects.values()].map(serverLine)) : [],
    }),
    hasGateway: ({ namespace, name }) => caches.gateways.get(`${namespace}/${name}`) !== undefined,
    routers: gateway =>
      routerPods(caches, gateway)
        .filter(isReady)
        .map(({ metadata, status }) => ({ pod: metadata.name, address: status?.podIP ?? '' }))
        .sort((a, b) => (a.pod < b.pod ? -1 : 1))
        .slice(0, MAX_ROUTERS),
    manifest(namespace, server) {
      const found = caches.servers.get(`${namespace}/${server}`)
      return found && shownManifest(found as unknown as McpServer)
    },
    close() {
      for (const stop of stops) stop()
    },
  }
}

/** At most MAX_LINES of them: those that are not ready first, then sorted by namespace and name. */
function firstOf<T extends { ready: boolean; namespace: string; name: string }>(lines: T[]): T[] {
  const key = ({ namespace, name }: T) => `${namespace}/${name}`
  return lines
    .sort((a, b) => Number(a.ready) - Number(b.ready) || (key(a) < key(b) ? -1 : 1))
    .slice(0, MAX_LINES)
}

function isReady(pod: Kube<V1Pod>): boolean {
  return !pod.metadata.deletionTimestamp && Boolean(pod.status?.podIP) && isPodReady(pod)
}
