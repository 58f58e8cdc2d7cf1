/** The server controller: applies the objects of an McpServer, and reports whether it is accepted and ready. */
import { endpointOf } from '../../core/catalog/endpoint.ts'
import { hasInstances } from '../../core/catalog/instances.ts'
import { serverObjectName } from '../../core/catalog/object-names.ts'
import { ApiError, isConflict, isDenied } from '../../core/kube/api-error.ts'
import { type KubeObject, keyOf, refOf } from '../../core/kube/object.ts'
import { CONDITION } from '../../crds/conditions.ts'
import type { McpServer } from '../../crds/server.ts'
import type { OperatorContext } from '../operator.ts'
import { mislabelled } from '../plan/installed.ts'
import { INSTALLED_LABEL } from '../plan/names.ts'
import type { Reference, ServerPlan, ServerPlanStatus, ServerWorld } from '../plan/plan.ts'
import { planServer } from '../plan/plan-server.ts'
import { connectionInputs, indexReferences, referencesOf } from '../plan/references.ts'
import { UNUSED } from '../plan/scaling.ts'
import { invalidServerStatus } from '../plan/server-status.ts'
import type { Manifest } from '../runtime/caches.ts'
import type { Controller } from '../runtime/controller.ts'
import type { PodLabeller } from '../runtime/label-pod.ts'
import { Queue } from '../runtime/queue.ts'
import type { Certificates, KeptCertificate } from './certificates.ts'
import type { Demand } from './demand.ts'
import { gatewaysOf } from './demand-controller.ts'
import { isSameEndpoint, type Target, type Targets } from './discovery-targets.ts'
import { Instances } from './instances.ts'
import { loginSecretsOf } from './kept-logins.ts'
import type { PackageRecords } from './package-records.ts'
import type { Manifests } from './parsed-manifests.ts'
import type { ReferenceIndex } from './reference-index.ts'
import type { References } from './reference-reader.ts'
import { Scales } from './scales.ts'
import { isOfUser, writeObjects } from './server-objects.ts'
import type { Turns } from './turns.ts'
import { onUserSecret } from './user-secrets.ts'
import { createWriters, OBSTACLE_RETRY_MS, type Writers } from './writers.ts'

export const SERVER_MANAGER = 'portolan-server'
const WORKERS = 8
const OWNED = {
  fields: ['observedGeneration', 'endpoint', 'replicas', 'users'],
  conditions: [CONDITION.accepted, CONDITION.available, CONDITION.progressing, CONDITION.ready],
}
/** Discovery should confirm a new generation within this time. It may first have to load the tokenizer, to count the tokens of a description. */
const REPEAT_LIMIT_MS = 5_000

export type ServerControllerOptions = OperatorContext & {
  manifests: Manifests
  references: References
  index: ReferenceIndex
  targets: Targets
  packages: PackageRecords
  certificates: Certificates
  turns: Turns
  labelPod: PodLabeller
  demand: Demand
}

export function createServerController(options: ServerControllerOptions): Controller {
  const { caches, clock, random, manifests, index, turns, demand } = options
  const queue = new Queue({ clock, random })
  caches.servers.onChange((before, now) => {
    const object = now ?? before
    if (!object) return
    const key = keyOf(object)
    const server = now && manifests.server(now).manifest
    index.set(key, object.metadata.namespace ?? '', server ? referencesOf(server) : [])
    queue.add(key)
  })
  caches.onOwnedChange(({ kind, namespace, name }) => {
    if (kind === 'McpServer') queue.add(`${namespace}/${name}`)
  })
  index.onChange(caches, key => queue.add(key))
  turns.onFree(key => queue.add(key))
  demand.onChange(key => queue.add(key))
  onUserSecret(caches, manifests, server => queue.add(keyOf(server)))
  return { name: 'server', queue, workers: WORKERS, reconcile: createReconcile(options) }
}

function createReconcile(options: ServerControllerOptions): Controller['reconcile'] {
  const { caches, manifests, targets, turns, metrics } = options
  const writers = createWriters<ServerPlanStatus>(options, SERVER_MANAGER, OWNED)
  const scales = new Scales()
  const instances = new Instances(caches)

  /** Plans, applies the plan and reports the status. */
  const settle = async (object: Manifest, { ownedBefore, ...observed }: Observed, signal: AbortSignal) => {
    const { certificate, afterMs } = await certificateFor(options, object, observed, signal)
    const seen = { ...observed, certificate }
    const key = keyOf(object)
    let plan = planServer(seen)
    const queued = turns.ask(key, plan.isUpgrade ? seen.deployment : undefined)
    const world = { ...seen, queued }
    if (queued) plan = planServer(world)
    if (plan.scale && scales.decide(key, plan.scale, seen.deployment)) metrics.woke(key)
    if (!plan.keep) instances.remember(key, plan.usedAtMs)
    const hindrance = await writeObjects(writers, object, plan, signal)
    // The cache's change event queues the server again.
    if (!hindrance) return undefined
    const isHindered = Object.keys(hindrance).length > 0
    if (isHindered) plan = planServer({ ...world, ...hindrance })
    // ConfigMaps are not in the plan: discovery writes and deletes slices, and PackageRecords writes its records.
    if (!plan.keep) await writers.prune(object, plan, ownedBefore, signal, ['ConfigMap'])
    const [last, target] = [targets.get(key), targetOf(world, plan)]
    targets.set(key, target)
    if (onlyGenerationChanged(last, target)) return { afterMs: REPEAT_LIMIT_MS }
    await writers.report(object, plan.status, signal)
    const isDelayed =
      isHindered || (world.denied ?? world.recordsDenied) !== undefined || world.taken.length > 0
    const retryMs = isDelayed ? OBSTACLE_RETRY_MS : undefined
    return { afterMs: soonest(afterMs, plan.afterMs, retryMs) }
  }

  return async (key, signal) => {
    const object = caches.servers.get(key)
    if (!object || object.metadata.deletionTimestamp) {
      scales.forget(key)
      instances.remember(key, undefined)
      targets.set(key, undefined)
      turns.ask(key, undefined)
      return undefined
    }
    const denied = await labelInstalled(options, object, instances.pods(object), signal)
    const { manifest, problems } = manifests.server(object)
    if (manifest) {
      const observed = await observe(options, { scales, instances }, object, manifest, signal)
      const world = { ...observed, ...(denied !== undefined && { denied }) }
      return settle(object, world, signal).catch(error => onDenial(writers, object, world, error, signal))
    }
    targets.set(key, undefined)
    turns.ask(key, undefined)
    await writers.report(object, invalidServerStatus(problems, object.metadata.generation ?? 0), signal)
    return denied === undefined ? undefined : { afterMs: OBSTACLE_RETRY_MS }
  }
}

/** Reports what a rule of the cluster forbids. Pods of users end nevertheless; all else of the server stays as it is. */
async function onDenial(
  writers: Writers<ServerPlanStatus>,
  object: Manifest,
  world: Observed,
  error: unknown,
  signal: AbortSignal,
): Promise<{ afterMs: number }> {
  if (!isDenied(error)) throw error
  const plan = planServer({ ...world, denied: error.message })
  await writers.report(object, plan.status, signal)
  if (!plan.keep)
    await writers.prune(object, plan, world.ownedBefore.filter(isOfUser), signal).catch(unlessDenied)
  return { afterMs: OBSTACLE_RETRY_MS }
}

/** A denied deletion is tried again with the rest. */
function unlessDenied(error: unknown): void {
  if (!isDenied(error)) throw error
}

/** `ownedBefore`: the objects that the server owned before anything else was observed. */
type Observed = ServerWorld & { ownedBefore: readonly KubeObject[] }

async function observe(
  options: ServerControllerOptions,
  { scales, instances }: { scales: Scales; instances: Instances },
  object: Manifest,
  server: McpServer,
  signal: AbortSignal,
): Promise<Observed> {
  const { caches, references, packages, demand, settings, clock } = options
  const { namespace = '', name } = object.metadata
  const key = keyOf(object)
  const ownedBefore = caches.ownedBy(object.metadata.uid ?? '')
  const deployment = caches.deployments.get(`${namespace}/${serverObjectName(name)}`)
  const pods = caches.podsOf(namespace, 'server', name)
  const gateways = gatewaysOf(options, object)
  const users = instances.observe(key, object, server, demand.ofUsers(key, gateways, clock.now()))
  const ofUsers = [...(users?.secrets?.values() ?? [])].map(name => ({ kind: 'Secret' as const, name }))
  return {
    ownedBefore,
    server,
    deployment,
    pods,
    use: {
      load: hasInstances(server) ? UNUSED : demand.of(key, gateways, clock.now()),
      memory: scales.memory(key),
      current: scales.current(key, deployment),
    },
    ...(users && { users }),
    references: await references.read(namespace, [...referencesOf(server), ...ofUsers], signal),
    ...(await packages.keep(object, server, pods, signal)),
    ...claimsOf(ownedBefore, users),
    logins: loginSecretsOf(caches, object).map(refOf),
    settings,
    now: clock.now(),
  }
}

/** The claims of packages, and those of users of which nothing says whose they are. */
function claimsOf(
  owned: readonly KubeObject[],
  users: ServerWorld['users'],
): Pick<ServerWorld, 'claims' | 'strays'> {
  const all = owned.filter(({ kind }) => kind === 'PersistentVolumeClaim')
  const known = users?.claims.map(({ claim }) => claim.metadata.name) ?? []
  return {
    claims: all.filter(claim => !isOfUser(claim)).map(refOf),
    strays: all.filter(claim => isOfUser(claim) && !known.includes(claim.metadata.name)).map(refOf),
  }
}

/**
 * Labels pods that have installed their package, whatever becomes of the manifest: the NetworkPolicy of the installer does not select pods with
 * this label. Resolves with the API server's message if it does not do that; everything else goes on.
 */
async function labelInstalled(
  { caches, labelPod, settings }: ServerControllerOptions,
  { metadata: { namespace = '', name } }: Manifest,
  ofUsers: ServerWorld['pods'],
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!settings.networkPolicies) return undefined
  let denied: string | undefined
  for (const { pod, installed } of mislabelled([...caches.podsOf(namespace, 'server', name), ...ofUsers])) {
    try {
      await labelPod(pod, installed ? { [INSTALLED_LABEL]: 'true' } : {}, signal)
    } catch (error) {
      if (!(error instanceof ApiError) || signal.aborted) throw error
      // A conflict: the pod is gone.
      if (!isConflict(error)) denied = error.message
    }
  }
  return denied
}

/** The certificate of a server with `tls`; empty if it has none or is not accepted. */
async function certificateFor(
  { certificates, clock }: ServerControllerOptions,
  object: Manifest,
  world: ServerWorld,
  signal: AbortSignal,
): Promise<KeptCertificate> {
  const { server } = world
  return server.spec.tls && !planServer(world).keep ? certificates.of(object, clock.now(), signal) : {}
}

function soonest(...times: (number | undefined)[]): number | undefined {
  const given = times.filter(time => time !== undefined)
  return given.length > 0 ? Math.min(...given) : undefined
}

/** Whether only the generation changed. Then the status is not written yet, since Ready would be false until discovery confirms the generation. */
function onlyGenerationChanged(last: Target | undefined, now: Target | undefined): boolean {
  if (!last || !now || !isSameEndpoint(last, now)) return false
  return last.server.metadata.generation !== now.server.metadata.generation
}

/** Undefined for a server that must not be discovered. */
function targetOf({ server, references }: ServerWorld, plan: ServerPlan): Target | undefined {
  if (plan.keep || server.spec.suspend) return undefined
  const inputs = connectionInputs(server, indexReferences(references))
  const endpoint = endpointOf(server, 'cluster', { inputs, configMaps: configMapsOf(references) })
  if (endpoint.kind !== 'http') return undefined
  return { server, endpoint, revision: plan.revision }
}

function configMapsOf(references: readonly Reference[]): Map<string, Record<string, string>> {
  return new Map(references.flatMap(({ name, values }) => (values ? [[name, values]] : [])))
}
