/** Names, labels, annotations and ports of the objects that the operator makes. Pure. */
import { sliceName } from '../../core/catalog/object-names.ts'

export type Component = 'server' | 'catalog' | 'approved' | 'router' | 'feed' | 'operator'

export const LABEL = {
  managedBy: 'app.kubernetes.io/managed-by',
  name: 'app.kubernetes.io/name',
  component: 'app.kubernetes.io/component',
  instance: 'app.kubernetes.io/instance',
} as const

export const ANNOTATION = {
  /** On a pod template: digest of the Secrets and ConfigMaps that its environment names. */
  inputs: 'portolan.dev/inputs',
  /** On a pod template: digest of the whole template, which identifies its pods. */
  revision: 'portolan.dev/revision',
  /** On a slice: identifies its set to readers that see only metadata. */
  catalogDigest: 'portolan.dev/catalog-digest',
  catalogParts: 'portolan.dev/catalog-parts',
} as const

/** Value of the label `managedBy` on all our objects. */
export const PRODUCT = 'portolan'

/** Selects all objects made by the operator. */
export const MANAGED_SELECTOR = `${LABEL.managedBy}=${PRODUCT}`

/** HTTP_PORT serves MCP, in bridges and routers; ADMIN_PORT serves everything else of routers. */
export const HTTP_PORT = 8080
export const ADMIN_PORT = 8081
export const SERVICE_PORT = 80

/** Labels of an object; `instance` is the name of the server or gateway. */
export function labelsOf(component: Component, instance: string): Record<string, string> {
  return { [LABEL.managedBy]: PRODUCT, ...selectorOf(component, instance) }
}

/** Labels by which a Deployment finds its pods; its selector is immutable. */
export function selectorOf(component: Component, instance: string): Record<string, string> {
  return { ...componentLabels(component), [LABEL.instance]: instance }
}

/** Labels of all pods of a component, of any server or gateway. */
export function componentLabels(component: Component): Record<string, string> {
  return { [LABEL.name]: PRODUCT, [LABEL.component]: component }
}

/** Name of a gateway's Deployment, Service, Role and so on. */
export function gatewayObjectName(gateway: string): string {
  return `${gateway}-gateway`
}

/** The Service of the routers' admin port, apart from the one that agents reach: that one may be a load balancer. */
export function adminServiceName(gateway: string): string {
  return `${gatewayObjectName(gateway)}-admin`
}

/** The Secret with the key that signs sessions. */
export function keysName(gateway: string): string {
  return `${gateway}-keys`
}

export const SESSION_KEY = 'session'

/** The ConfigMaps of a set of slices. */
export function sliceNames(server: string, parts: number): string[] {
  return Array.from({ length: parts }, (_, part) => sliceName(server, part))
}
