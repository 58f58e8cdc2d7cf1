/** The operator's caches: list-watches of all kinds that it reads or writes. */
import type {
  V1Deployment,
  V1Ingress,
  V1NetworkPolicy,
  V1PersistentVolumeClaim,
  V1Pod,
  V1PodDisruptionBudget,
  V1Role,
  V1RoleBinding,
  V1Service,
  V1ServiceAccount,
  V2HorizontalPodAutoscaler,
} from '@kubernetes/client-node'
import type { Clock } from '../../core/async.ts'
import type { KubeClient } from '../../core/kube/client.ts'
import { type Kube, type KubeObject, keyOf, type ObjectRef } from '../../core/kube/object.ts'
import type { Log } from '../../core/log.ts'
import type { Condition } from '../../crds/conditions.ts'
import { API_VERSION } from '../../crds/object-meta.ts'
import { HTTP_ROUTE } from '../plan/exposure.ts'
import { LABEL, MANAGED_SELECTOR } from '../plan/names.ts'
import { type Cache, createCache, type Namespaces, type WatchedCache } from './cache.ts'
import { waitForLists } from './first-lists.ts'
import { indexBy } from './index-by.ts'
import { controllerOf } from './owner-reference.ts'

/** An McpServer, McpGateway or McpScript as in the API server; its spec is not parsed yet. */
export type Manifest = KubeObject & {
  spec?: unknown
  status?: { conditions?: readonly Condition[]; [field: string]: unknown }
}

/** Identifies an McpServer or McpGateway. */
export type Owner = { kind: string; namespace: string; name: string }

export type CachesOptions = {
  client: Pick<KubeClient, 'list' | 'watch'>
  namespaces: Namespaces
  log: Log
  clock: Clock
  /** How often listeners are called for every server and gateway even without a change. */
  resyncMs: number
}

export type Caches = Kinds & {
  /** The cached object; also undefined if its kind is not watched. */
  find(ref: ObjectRef): KubeObject | undefined
  /** All objects that the one with this uid controls. */
  ownedBy(uid: string): KubeObject[]
  /** The pods of a server (`component` is `server`), of its users (`user`), or of a gateway (`router`). */
  podsOf(namespace: string, component: 'server' | 'user' | 'router', name: string): Kube<V1Pod>[]
  /** Calls `listener` for every change of an object that a server or gateway controls, including pods. */
  onOwnedChange(listener: (owner: Owner) => void): void
  /**
   * Kinds that are not listed yet. Namespaces without which `synced` resolved do not count. A kind that stays here lacks RBAC rights or its CRD.
   */
  readonly unsynced: readonly string[]
  /** Whether the objects of all kinds in this namespace were listed. */
  isListed(namespace: string): boolean
  /** Resolves when everything was listed, except in namespaces where that is refused; rejects if `signal` aborts before. */
  synced(signal: AbortSignal): Promise<void>
  /** Watches until `signal` aborts; never rejects. */
  run(signal: AbortSignal): Promise<void>
}

type Kinds = ReturnType<typeof createKinds>

const RBAC = 'rbac.authorization.k8s.io/v1'
/** Kind of the owner, by the component label of its pods. */
const OWNER_KINDS: Readonly<Record<string, string>> = {
  server: 'McpServer',
  user: 'McpServer',
  router: 'McpGateway',
}
const OWN_KINDS = Object.values(OWNER_KINDS)

/** Creates the caches, which send no requests before `run`. */
export function createCaches(options: CachesOptions): Caches {
  const kinds = createKinds(options)
  const all: WatchedCache<KubeObject>[] = Object.values(kinds)
  let refused: ReadonlySet<string> = new Set()
  const byKind = new Map(all.map(cache => [cache.kind, cache]))
  const { servers, gateways, scripts, pods, ...made } = kinds
  const ownedBy = indexBy<KubeObject>(Object.values(made), object => controllerOf(object)?.uid)
  const podsOf = indexBy(
    [pods],
    ({ metadata: { namespace, labels = {} } }) =>
      `${namespace}/${labels[LABEL.component]}/${labels[LABEL.instance]}`,
  )
  return {
    ...kinds,
    find: ({ kind, namespace, name }) => byKind.get(kind)?.get(keyOf({ metadata: { namespace, name } })),
    ownedBy,
    podsOf: (namespace, component, name) => podsOf(`${namespace}/${component}/${name}`),
    onOwnedChange(listener) {
      for (const cache of [pods, ...Object.values(made)]) notifyOfOwners(cache, listener)
    },
    get unsynced() {
      return all
        .filter(({ unlisted }) => unlisted.some(({ namespace }) => !refused.has(namespace)))
        .map(cache => cache.kind)
    },
    isListed: wanted =>
      all.every(({ unlisted }) =>
        unlisted.every(({ namespace }) => namespace !== '' && namespace !== wanted),
      ),
    async synced(signal) {
      refused = await waitForLists(all, options, signal)
    },
    async run(signal) {
      await Promise.all(all.map(cache => cache.run(signal)))
    },
  }
}

function createKinds({ client, namespaces, log, clock, resyncMs }: CachesOptions) {
  const common = { client, namespaces, log, clock }
  const manifests = (kind: string) =>
    createCache<Manifest>({ ...common, resyncMs, query: { apiVersion: API_VERSION, kind } })
  const made = <T extends KubeObject>(apiVersion: string, kind: string, optional = false) =>
    createCache<T>({ ...common, optional, query: { apiVersion, kind, labelSelector: MANAGED_SELECTOR } })
  /** Also objects of others, because manifests refer to them; never their content. */
  const metadata = (kind: string) =>
    createCache<KubeObject>({ ...common, query: { apiVersion: 'v1', kind, metadataOnly: true } })
  return {
    servers: manifests('McpServer'),
    gateways: manifests('McpGateway'),
    scripts: manifests('McpScript'),
    deployments: made<Kube<V1Deployment>>('apps/v1', 'Deployment'),
    pods: made<Kube<V1Pod>>('v1', 'Pod'),
    services: made<Kube<V1Service>>('v1', 'Service'),
    serviceAccounts: made<Kube<V1ServiceAccount>>('v1', 'ServiceAccount'),
    roles: made<Kube<V1Role>>(RBAC, 'Role'),
    roleBindings: made<Kube<V1RoleBinding>>(RBAC, 'RoleBinding'),
    networkPolicies: made<Kube<V1NetworkPolicy>>('networking.k8s.io/v1', 'NetworkPolicy'),
    ingresses: made<Kube<V1Ingress>>('networking.k8s.io/v1', 'Ingress'),
    httpRoutes: made<KubeObject>(HTTP_ROUTE.apiVersion, HTTP_ROUTE.kind, true),
    disruptionBudgets: made<Kube<V1PodDisruptionBudget>>('policy/v1', 'PodDisruptionBudget'),
    autoscalers: made<Kube<V2HorizontalPodAutoscaler>>('autoscaling/v2', 'HorizontalPodAutoscaler'),
    claims: made<Kube<V1PersistentVolumeClaim>>('v1', 'PersistentVolumeClaim'),
    configMaps: metadata('ConfigMap'),
    secrets: metadata('Secret'),
  }
}

/** Calls the listener with the owner of each changed object, and with its former owner if that was another one. */
function notifyOfOwners(cache: Cache<KubeObject>, listener: (owner: Owner) => void): void {
  cache.onChange((before, now) => {
    const [former, owner] = [before && ownerOf(before), now && ownerOf(now)]
    if (owner) listener(owner)
    if (former && former.name !== owner?.name) listener(former)
  })
}

/** ReplicaSets control pods, so the labels of pods name their server or gateway. */
function ownerOf(object: KubeObject): Owner | undefined {
  const { namespace = '', labels = {} } = object.metadata
  const [kind, name] =
    object.kind === 'Pod'
      ? [OWNER_KINDS[labels[LABEL.component] ?? ''], labels[LABEL.instance]]
      : [controllerOf(object)?.kind, controllerOf(object)?.name]
  return kind && name && OWN_KINDS.includes(kind) ? { kind, namespace, name } : undefined
}
