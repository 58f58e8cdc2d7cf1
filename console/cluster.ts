/** Applies events of the operator's console to what the page knows of the cluster, and of each router of a gateway. Pure. */
import type { ConsoleClusterEvents, ConsoleGateway } from '../core/console/shapes.ts'
import { applyEvent, type Known, NO_DATA } from './live.ts'

export type ClusterKnown = {
  cluster?: ConsoleClusterEvents['cluster']
  /** What each router of the gateway reported, by the name of its pod. */
  routers: ReadonlyMap<string, Known>
  /** Why no router answers. */
  unreachable?: string
  /** Why the gateway refuses this caller. */
  refused?: string
}

export const NO_CLUSTER: ClusterKnown = { routers: new Map() }

/** Events of routers are named `event@pod`. Events with an unknown name, from a newer operator, are ignored. */
export function applyClusterEvent(known: ClusterKnown, event: string, data: string): ClusterKnown {
  const [name = '', pod] = event.split('@', 2)
  if (pod !== undefined) {
    const routers = new Map(known.routers)
    routers.set(pod, applyEvent(routers.get(pod) ?? NO_DATA, name, data))
    return { ...known, routers, unreachable: undefined, refused: undefined }
  }
  switch (name) {
    case 'cluster':
      return { ...known, cluster: JSON.parse(data) as ConsoleClusterEvents['cluster'] }
    case 'routers': {
      const { pods } = JSON.parse(data) as ConsoleClusterEvents['routers']
      return { ...known, routers: new Map([...known.routers].filter(([pod]) => pods.includes(pod))) }
    }
    case 'refused':
      return { ...known, refused: (JSON.parse(data) as ConsoleClusterEvents['refused']).error }
    case 'unreachable':
      return { ...known, unreachable: (JSON.parse(data) as ConsoleClusterEvents['unreachable']).error }
    default:
      return known
  }
}

/** Routers that serve an older generation than the newest, or no generation yet. */
export function lagging({ generation, routers }: ConsoleGateway): { pod: string; generation?: number }[] {
  if (generation === undefined) return []
  return routers.filter(router => (router.generation ?? -1) < generation)
}

/** `namespace/name` of the gateway that the query of the page's URL names; undefined: all gateways. */
export function gatewayIn(search: string): string | undefined {
  const found = new URLSearchParams(search).get('gateway')
  return found !== null && /^[a-z0-9-]+\/[a-z0-9.-]+$/.test(found) ? found : undefined
}

/** The URL of a gateway's pages, or of the page about all gateways. */
export function addressOf(gateway: string | undefined, hash = ''): string {
  return `./${gateway === undefined ? '' : `?gateway=${gateway}`}${hash}`
}
