/** Names, labels, annotations and ports of the objects that the operator makes. Pure. */
import { serverObjectName, sliceName } from '../../core/catalog/object-names.ts'

export type Component =
  | 'server'
  | 'user'
  | 'catalog'
  | 'approved'
  | 'packages'
  | 'logins'
  | 'router'
  | 'feed'
  | 'operator'

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
  /** On the pod template of routers: uid of their ServiceAccount. If it is deleted and created again, the tokens of running pods are refused. */
  serviceAccount: 'portolan.dev/service-account',
  /** On the Deployment of a server: the generation of the manifest for which it was last written. */
  madeFor: 'portolan.dev/made-for',
  /** On the Deployment of a server: why it has its revision, Manifest or Upgrade. */
  cause: 'portolan.dev/cause',
  /** On the Deployment of a user's instance: the digest of the user. The user's id, in the label, is its beginning. */
  user: 'portolan.dev/user-digest',
  /** On the claim of a user's volume: since when the user has had no pod, in milliseconds since the epoch. */
  unusedSince: 'portolan.dev/unused-since',
  /** On a slice: identifies its set to readers that see only metadata. */
  catalogDigest: 'portolan.dev/catalog-digest',
  catalogParts: 'portolan.dev/catalog-parts',
} as const

/** On objects that belong to one user of a server: the user's id. */
export const USER_LABEL = 'portolan.dev/user'

/** On a pod that has installed its package: see installed.ts. */
export const INSTALLED_LABEL = 'portolan.dev/installed'

/** Value of the label `managedBy` on all our objects. */
export const PRODUCT = 'portolan'

/** Selects all objects made by the operator. */
export const MANAGED_SELECTOR = `${LABEL.managedBy}=${PRODUCT}`

/** HTTP_PORT serves MCP, in bridges and routers; ADMIN_PORT serves everything else of routers. */
export const HTTP_PORT = 8080
export const ADMIN_PORT = 8081
/** The port of a bridge's metrics: not one that servers usually listen on themselves. */
export const METRICS_PORT = 9464
export const SERVICE_PORT = 80
export const TLS_SERVICE_PORT = 443

/** The NetworkPolicy of a server's installer. Names of servers contain no dot, so no other object has this name. */
export function installPolicyName(server: string): string {
  return `${serverObjectName(server)}.install`
}

/** The beginning of the names of a server's claims of storage for its package. */
export function packageClaimPrefix(server: string): string {
  return `${serverObjectName(server)}.package-`
}

/** Labels of an object. `instance` is the name of the server or gateway, `user` the id of the user that the object belongs to. */
export function labelsOf(component: Component, instance: string, user?: string): Record<string, string> {
  return { [LABEL.managedBy]: PRODUCT, ...selectorOf(component, instance, user) }
}

/** Labels by which a Deployment finds its pods; its selector is immutable. */
export function selectorOf(component: Component, instance: string, user?: string): Record<string, string> {
  return {
    ...componentLabels(component),
    [LABEL.instance]: instance,
    ...(user !== undefined && { [USER_LABEL]: user }),
  }
}

/** Labels of all pods of a component, of any server or gateway. */
export function componentLabels(component: Component): Record<string, string> {
  return { [LABEL.name]: PRODUCT, [LABEL.component]: component }
}

/** Name of a gateway's Deployment, Service, Role and so on. */
export function gatewayObjectName(gateway: string): string {
  return `${gateway}-gateway`
}

/** The Service of the routers' admin port. It is separate from the Service for agents, which may be a load balancer. */
export function adminServiceName(gateway: string): string {
  return `${gatewayObjectName(gateway)}-admin`
}

/** The headless Service by which the routers of a gateway find each other. */
export function peersServiceName(gateway: string): string {
  return `${gatewayObjectName(gateway)}-peers`
}

/** The Secret with the keys that only routers have: one signs session ids, the other encrypts logins of users. */
export function keysName(gateway: string): string {
  return `${gateway}-keys`
}

/** The keys in that Secret. */
export const SESSION_KEY = 'session'
export const LOGIN_KEY = 'logins'

/** The ConfigMap with the records of which packages the pods of a server installed. */
export function packagesName(server: string): string {
  return `${server}-packages`
}

/** The ConfigMaps of a set of slices. */
export function sliceNames(server: string, parts: number): string[] {
  return Array.from({ length: parts }, (_, part) => sliceName(server, part))
}
