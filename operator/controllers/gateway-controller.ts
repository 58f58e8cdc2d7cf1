/** The gateway controller: keeps routers, their RBAC and their feed in step with the servers that a gateway selects. */
import { isDeepStrictEqual } from 'node:util'
import type { V1ConfigMap } from '@kubernetes/client-node'
import type { SliceSet } from '../../core/catalog/feed.ts'
import { decodeFeed } from '../../core/catalog/feed-text.ts'
import { feedName } from '../../core/catalog/object-names.ts'
import { selects } from '../../core/catalog/select.ts'
import { Fault } from '../../core/errors.ts'
import { isDenied } from '../../core/kube/api-error.ts'
import { type Kube, type KubeObject, keyOf } from '../../core/kube/object.ts'
import { CONDITION } from '../../crds/conditions.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import type { McpServer } from '../../crds/server.ts'
import type { OperatorContext } from '../operator.ts'
import { HTTP_ROUTE } from '../plan/exposure.ts'
import { gatewayStatus, invalidGatewayStatus } from '../plan/gateway-status.ts'
import { gatewayObjectName } from '../plan/names.ts'
import type { GatewayPlan, GatewayPlanStatus, GatewayWorld } from '../plan/plan.ts'
import { planGateway } from '../plan/plan-gateway.ts'
import { gatewayReferences, type ReferenceName, referencesOf } from '../plan/references.ts'
import type { Manifest } from '../runtime/caches.ts'
import type { Controller } from '../runtime/controller.ts'
import { Queue } from '../runtime/queue.ts'
import { routerPods } from '../runtime/router-pods.ts'
import type { DescriptionTokens } from './description-tokens.ts'
import {
  createGatewayProbe,
  type GatewayProbe,
  type GatewayProbeOptions,
  generationOf,
} from './gateway-probe.ts'
import { loginSecretsOf, onLoginSecret } from './kept-logins.ts'
import type { Manifests } from './parsed-manifests.ts'
import { ReferenceIndex } from './reference-index.ts'
import type { References } from './reference-reader.ts'
import type { SliceSets } from './slice-sets.ts'
import { onUserSecret, userSecretsIn } from './user-secrets.ts'
import { createWriters, OBSTACLE_RETRY_MS, type Obstacle } from './writers.ts'

const FIELD_MANAGER = 'portolan-gateway'
const WORKERS = 2
/** Changes within this time are handled in one reconcile. */
const JOIN_MS = 100
/** Minimum time between two plans of a gateway: each may make every router load a new catalog. */
const MIN_GAP_MS = 500
const EXPOSURE_KINDS = [HTTP_ROUTE.kind, 'Ingress']
const OWNED = {
  fields: [
    'observedGeneration',
    'url',
    'servers',
    'tools',
    'generation',
    'tokens',
    'search',
    'access',
    'routers',
  ],
  conditions: [
    CONDITION.accepted,
    CONDITION.available,
    CONDITION.progressing,
    CONDITION.ready,
    CONDITION.authReady,
    CONDITION.accessResolved,
  ],
}

export type GatewayControllerOptions = OperatorContext & {
  manifests: Manifests
  references: References
  index: ReferenceIndex
  slices: SliceSets
  tokens: DescriptionTokens
  connect?: GatewayProbeOptions['connect']
}

export type GatewayControllers = {
  controllers: Controller[]
  /** Call when the slices of a server changed. */
  slicesChanged(server: string): void
}

/** The probe is a separate controller with its own workers, since the workers of this one wait for its first result. */
export function createGatewayControllers(options: GatewayControllerOptions): GatewayControllers {
  const { clock, random } = options
  const queue = new Queue({ clock, random })
  const plannedAt = new Map<string, number>()
  const requeue = (key: string) => {
    const gapMs = (plannedAt.get(key) ?? Number.NEGATIVE_INFINITY) + MIN_GAP_MS - clock.elapsed()
    queue.addAfter(key, Math.max(JOIN_MS, gapMs))
  }
  const probe = createGatewayProbe({ ...options, onChange: requeue })
  const requeueSelecting = requeueOnChanges(options, requeue)
  const reconcileGateway = createGatewayReconcile(options, probe)
  const reconcile: Controller['reconcile'] = async (key, signal) => {
    const object = options.caches.gateways.get(key)
    if (!object || object.metadata.deletionTimestamp) {
      plannedAt.delete(key)
      return undefined
    }
    plannedAt.set(key, clock.elapsed())
    return reconcileGateway(object, signal)
  }
  return {
    controllers: [{ name: 'gateway', queue, workers: WORKERS, reconcile }, probe.controller],
    slicesChanged: key => requeueSelecting(options.caches.servers.get(key)),
  }
}

/** Queues gateways when something that they depend on changes. Returns a function that queues the gateways which select any of the given servers. */
function requeueOnChanges(options: GatewayControllerOptions, requeue: (key: string) => void) {
  const { caches, manifests, index } = options
  const requeueSelecting = (...states: (Manifest | undefined)[]) => {
    for (const [key, object] of caches.gateways.objects) {
      const selector = manifests.gateway(object).manifest?.spec.servers.selector
      const isSelected = (server: Manifest | undefined) =>
        server !== undefined &&
        server.metadata.namespace === object.metadata.namespace &&
        (selector === undefined || selects(selector, server.metadata.labels))
      if (states.some(isSelected)) requeue(key)
    }
  }
  const named = new ReferenceIndex()
  caches.gateways.onChange((before, now) => {
    const object = now ?? before
    if (!object) return
    const gateway = now && manifests.gateway(now).manifest
    named.set(keyOf(object), object.metadata.namespace ?? '', gateway ? gatewayReferences(gateway) : [])
    requeue(keyOf(object))
  })
  named.onChange(caches, requeue)
  caches.servers.onChange((before, now) => requeueSelecting(before, now))
  caches.onOwnedChange(({ kind, namespace, name }) => {
    if (kind === 'McpGateway') requeue(`${namespace}/${name}`)
  })
  caches.scripts.onChange((before, now) => requeueOffering(options, requeue, before, now))
  onUserSecret(caches, manifests, server => requeueSelecting(server))
  onLoginSecret(caches, key => requeueSelecting(caches.servers.get(key)))
  index.onChange(caches, key => requeueSelecting(caches.servers.get(key)))
  return requeueSelecting
}

/** Queues the gateways that run scripts and select, or selected, the changed one; also those that cannot be parsed. */
function requeueOffering(
  { caches, manifests }: GatewayControllerOptions,
  requeue: (key: string) => void,
  before: Manifest | undefined,
  now: Manifest | undefined,
): void {
  const isSame = before && now && before.metadata.generation === now.metadata.generation
  // Only the status changed. In a resync, both are the same object.
  if (isSame && before !== now && isDeepStrictEqual(before.metadata.labels, now.metadata.labels)) return
  for (const [key, object] of caches.gateways.objects) {
    const code = manifests.gateway(object).manifest?.spec.code
    const isSelected = (script: Manifest | undefined) =>
      script !== undefined &&
      script.metadata.namespace === object.metadata.namespace &&
      (!code || (code.enabled && selects(code.scripts.selector, script.metadata.labels)))
    if (isSelected(before) || isSelected(now)) requeue(key)
  }
}

/** Why a plan could not be applied completely; undefined if it was. */
type Blocked = Obstacle | { denied: string } | undefined

function createGatewayReconcile(options: GatewayControllerOptions, probe: GatewayProbe) {
  const { caches, manifests } = options
  const writers = createWriters<GatewayPlanStatus>(options, FIELD_MANAGER, OWNED)

  const carryOut = async (
    object: Manifest,
    ownedBefore: readonly KubeObject[],
    plan: GatewayPlan,
    signal: AbortSignal,
  ): Promise<Blocked> => {
    const blocked = await unlessDenied(async () => {
      const secrets = await writers.ensureSecrets(object, plan, signal)
      return writers.apply(object, plan, secrets, signal)
    })
    if (blocked && 'taken' in blocked && blocked.taken.length > 0) return blocked
    // Objects that are not wanted any more go although others could not be written, except the way by which callers reach the gateway now.
    const kept =
      blocked && plan.objects.some(({ kind }) => EXPOSURE_KINDS.includes(kind)) ? EXPOSURE_KINDS : []
    const undeleted = await unlessDenied(async () => {
      await writers.prune(object, plan, ownedBefore, signal, kept)
      return undefined
    })
    return blocked ?? undeleted
  }

  return async (object: Manifest, signal: AbortSignal): Promise<{ afterMs?: number }> => {
    const { manifest, problems } = manifests.gateway(object)
    if (!manifest) {
      await writers.report(object, invalidGatewayStatus(problems, object.metadata.generation ?? 0), signal)
      return {}
    }
    const key = keyOf(object)
    const ownedBefore = caches.ownedBy(object.metadata.uid ?? '')
    const world = await observe(options, object, manifest, signal)
    const plan = planGateway(world)
    const blocked = await carryOut(object, ownedBefore, plan, signal)
    // The feed is written before the probe's first result is awaited.
    const seen = probe.last(key) ?? (await probe.first(key, signal))
    const after = { ...world, ...seen, ...blocked, generation: generationOf(caches, key) }
    await writers.report(object, gatewayStatus(after, plan), signal)
    return { afterMs: blocked ? OBSTACLE_RETRY_MS : plan.afterMs }
  }
}

async function unlessDenied(write: () => Promise<Blocked>): Promise<Blocked> {
  try {
    return await write()
  } catch (error) {
    if (!isDenied(error)) throw error
    return { denied: error.message }
  }
}

async function observe(
  options: GatewayControllerOptions,
  object: Manifest,
  gateway: McpGateway,
  signal: AbortSignal,
): Promise<GatewayWorld> {
  const { caches, manifests, references, tokens, settings, clock, log } = options
  const { namespace = '', name } = object.metadata
  const inNamespace = [...caches.servers.objects.values()].filter(
    ({ metadata }) => metadata.namespace === namespace && !metadata.deletionTimestamp,
  )
  const servers = inNamespace.flatMap(server => manifests.server(server).manifest ?? [])
  const selected = servers.filter(({ metadata }) => selects(gateway.spec.servers.selector, metadata.labels))
  const userSecrets = userSecretsIn(caches, namespace, selected)
  const loginSecrets = selected
    .filter(({ spec }) => spec.auth?.perUser?.oauth)
    .flatMap(({ metadata }) => caches.servers.get(`${namespace}/${metadata.name}`) ?? [])
    .flatMap(server => loginSecretsOf(caches, server).map(({ metadata }) => metadata.name))
  const secretNames = [...[...userSecrets.values()].flat().map(({ name }) => name), ...loginSecrets]
  const ofUsers = secretNames.map(name => ({ kind: 'Secret' as const, name }))
  const descriptionTokens = await tokens.of(selected).catch(error => {
    // Routers estimate descriptions without a count.
    if (!(error instanceof Fault)) throw error
    log.warn({ gateway: keyOf(object), error: error.message }, 'description tokens could not be counted')
    return new Map<string, number>()
  })
  const scripts = [...caches.scripts.objects.values()].filter(
    ({ metadata }) => metadata.namespace === namespace && !metadata.deletionTimestamp,
  )
  return {
    gateway,
    servers,
    scripts: scripts.flatMap(script => manifests.script(script).script ?? []),
    slices: await slicesOf(options, object, selected, signal),
    references: await references.read(namespace, namesIn(gateway, selected, ofUsers), signal),
    userSecrets,
    loginSecrets,
    descriptionTokens,
    deployment: caches.deployments.get(`${namespace}/${gatewayObjectName(name)}`),
    serviceAccount: caches.serviceAccounts.get(`${namespace}/${gatewayObjectName(name)}`)?.metadata.uid,
    pods: routerPods(caches, { namespace, name }),
    generation: generationOf(caches, keyOf(object)),
    reports: [],
    taken: [],
    settings,
    now: clock.now(),
  }
}

/** All Secrets and ConfigMaps to read, each once. Those of the gateway come after those of servers, since it needs ConfigMaps whole. */
function namesIn(
  gateway: McpGateway,
  servers: readonly McpServer[],
  others: readonly ReferenceName[],
): ReferenceName[] {
  const names = [...servers.flatMap(referencesOf), ...gatewayReferences(gateway), ...others]
  const byId = new Map(names.map(name => [`${name.kind}/${name.name}`, name]))
  return [...byId.values()]
}

/** The complete sets of slices, by server name. If an operator was interrupted while it wrote one, routers keep the set that their feed names. */
async function slicesOf(
  { client, slices }: GatewayControllerOptions,
  { metadata: { namespace = '', name } }: KubeObject,
  servers: readonly McpServer[],
  signal: AbortSignal,
): Promise<Map<string, SliceSet>> {
  const found = new Map<string, SliceSet>()
  const torn: string[] = []
  for (const { metadata } of servers) {
    const set = slices.whole(`${namespace}/${metadata.name}`)
    if (set) found.set(metadata.name, set)
    else if (slices.isTorn(`${namespace}/${metadata.name}`)) torn.push(metadata.name)
  }
  if (torn.length === 0) return found
  const ref = { apiVersion: 'v1', kind: 'ConfigMap', namespace, name: feedName(name) }
  const feed = (await client.get<Kube<V1ConfigMap>>(ref, signal))?.binaryData?.feed
  const last = feed ? decodeFeed(Buffer.from(feed, 'base64')).slices : {}
  for (const server of torn) if (last[server]) found.set(server, last[server])
  return found
}
