/** The server controller: what a McpServer is made of in the cluster, and whether it is accepted and ready. */
import type { V1Deployment } from '@kubernetes/client-node'
import { endpointOf } from '../../core/catalog/endpoint.ts'
import { serverObjectName } from '../../core/catalog/object-names.ts'
import { isDenied } from '../../core/kube/api-error.ts'
import { type Kube, keyOf, refOf } from '../../core/kube/object.ts'
import { CONDITION } from '../../crds/conditions.ts'
import type { McpServer } from '../../crds/server.ts'
import type { OperatorContext } from '../operator.ts'
import type { Reference, ServerPlan, ServerPlanStatus, ServerWorld } from '../plan/plan.ts'
import { connectionInputs, indexReferences, referencesOf } from '../plan/references.ts'
import { planInvalidServer, planServer } from '../plan/server.ts'
import { revisionOf } from '../plan/template.ts'
import { createApplier } from '../runtime/apply.ts'
import { createStatusWriter } from '../runtime/apply-status.ts'
import type { Manifest } from '../runtime/caches.ts'
import type { Controller } from '../runtime/controller.ts'
import { createSecretKeeper } from '../runtime/ensure-secret.ts'
import { Queue } from '../runtime/queue.ts'
import type { Manifests } from './manifests.ts'
import type { ReferenceIndex } from './reference-index.ts'
import type { References } from './references.ts'
import { isSameWay, type Target, type Targets } from './targets.ts'

const FIELD_MANAGER = 'portolan-server'
const WORKERS = 8
const OWNED = {
  fields: ['observedGeneration', 'endpoint', 'replicas'],
  conditions: [CONDITION.accepted, CONDITION.ready],
}
/** What stands in our way, an object of somebody else or a policy of the cluster, is not watched. */
export const HINDERED_AGAIN_MS = 30_000
/** Counting the tokens of a description may take a tokenizer that has to be loaded. */
const REPEAT_LIMIT_MS = 5_000

export type ServerControllerOptions = OperatorContext & {
  manifests: Manifests
  references: References
  index: ReferenceIndex
  targets: Targets
}

export function createServerController(options: ServerControllerOptions): Controller {
  const { caches, clock, random, manifests, index } = options
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
  for (const [kind, cache] of [
    ['Secret', caches.secrets] as const,
    ['ConfigMap', caches.configMaps] as const,
  ]) {
    cache.onChange((before, now) => {
      const { namespace = '', name = '' } = (now ?? before)?.metadata ?? {}
      for (const key of index.users(kind, namespace, name)) queue.add(key)
    })
  }
  return { name: 'server', queue, workers: WORKERS, reconcile: createReconcile(options) }
}

function createReconcile(options: ServerControllerOptions): Controller['reconcile'] {
  const { client, caches, log, metrics, manifests, targets } = options
  const applier = createApplier({ client, log, metrics, fieldManager: FIELD_MANAGER })
  const ensureSecrets = createSecretKeeper({ client, log, metrics, fieldManager: FIELD_MANAGER })
  const tell = createTell(options)

  const settle = async (object: Manifest, world: ServerWorld, signal: AbortSignal) => {
    const key = keyOf(object)
    let plan = planServer(world)
    const secrets = await ensureSecrets(object, plan.secrets, caches.find, signal)
    // Its version is part of what follows: the cache tells when it has it.
    if (secrets.written > 0) return undefined
    const stands = plan.keep || secrets.taken.length > 0
    const applied = stands ? undefined : await applier.apply(object, plan.objects, caches.find, signal)
    const taken = [...secrets.taken, ...(applied?.taken ?? [])]
    const refused = applied?.refused
    const isHindered = taken.length > 0 || refused !== undefined
    if (isHindered) plan = planServer({ ...world, taken, refused })
    if (!plan.keep) {
      // ConfigMaps are for discovery to write and to delete
      const standing = caches.ownedBy(object.metadata.uid ?? '').filter(({ kind }) => kind !== 'ConfigMap')
      const keep = [...plan.objects.map(refOf), ...plan.secrets.map(secretRef)]
      await applier.prune(object, keep, standing, signal)
    }
    const [last, target] = [targets.get(key), targetOf(world, plan)]
    targets.set(key, target)
    if (isRepeated(last, target)) return { afterMs: REPEAT_LIMIT_MS }
    await tell(object, plan.status, signal)
    return { afterMs: isHindered ? HINDERED_AGAIN_MS : plan.afterMs }
  }

  return async (key, signal) => {
    const object = caches.servers.get(key)
    if (!object || object.metadata.deletionTimestamp) {
      targets.set(key, undefined)
      return undefined
    }
    const { manifest, problems } = manifests.server(object)
    if (manifest) {
      const world = await observe(options, object, manifest, signal)
      return settle(object, world, signal).catch(async error => {
        if (!isDenied(error)) throw error
        await tell(object, planServer({ ...world, denied: error.message }).status, signal)
        return { afterMs: HINDERED_AGAIN_MS }
      })
    }
    targets.set(key, undefined)
    await tell(object, planInvalidServer(problems, object.metadata.generation ?? 0).status, signal)
    return undefined
  }
}

function createTell({ client, clock, metrics, events }: ServerControllerOptions) {
  const writeStatus = createStatusWriter({
    client,
    clock,
    metrics,
    owned: OWNED,
    fieldManager: FIELD_MANAGER,
  })
  return async (object: Manifest, status: ServerPlanStatus, signal: AbortSignal) => {
    const { changed } = await writeStatus(object, status, signal)
    void events.conditionsChanged(object, changed)
  }
}

async function observe(
  { caches, references, settings, clock }: ServerControllerOptions,
  object: Manifest,
  server: McpServer,
  signal: AbortSignal,
): Promise<ServerWorld> {
  const { namespace = '', name } = object.metadata
  return {
    server,
    deployment: caches.deployments.get(`${namespace}/${serverObjectName(name)}`),
    pods: caches.podsOf(namespace, 'server', name),
    references: await references.read(namespace, referencesOf(server), signal),
    taken: [],
    settings,
    now: clock.now(),
  }
}

/** Discovery is about to say of the new generation what it said of the last: until then a server that is ready shall not seem otherwise. */
function isRepeated(last: Target | undefined, now: Target | undefined): boolean {
  if (!last || !now || !isSameWay(last, now)) return false
  return last.server.metadata.generation !== now.server.metadata.generation
}

/** Undefined for a server that is not to be asked. */
function targetOf({ server, references }: ServerWorld, plan: ServerPlan): Target | undefined {
  if (plan.keep || server.spec.suspend) return undefined
  const inputs = connectionInputs(server, indexReferences(references))
  const endpoint = endpointOf(server, 'cluster', { inputs, configMaps: configMapsOf(references) })
  if (endpoint.kind !== 'http') return undefined
  const deployment = plan.objects.find(({ kind }) => kind === 'Deployment') as Kube<V1Deployment> | undefined
  return { server, endpoint, revision: deployment?.spec && revisionOf(deployment.spec.template) }
}

function configMapsOf(references: readonly Reference[]): Map<string, Record<string, string>> {
  return new Map(references.flatMap(({ name, values }) => (values ? [[name, values]] : [])))
}

function secretRef({ name, namespace }: { name: string; namespace: string }) {
  return { apiVersion: 'v1', kind: 'Secret', name, namespace }
}
