/** The server controller: applies the objects of a McpServer, and reports whether it is accepted and ready. */
import type { V1Deployment } from '@kubernetes/client-node'
import { endpointOf } from '../../core/catalog/endpoint.ts'
import { serverObjectName } from '../../core/catalog/object-names.ts'
import { isDenied } from '../../core/kube/api-error.ts'
import { type Kube, keyOf } from '../../core/kube/object.ts'
import { CONDITION } from '../../crds/conditions.ts'
import type { McpServer } from '../../crds/server.ts'
import type { OperatorContext } from '../operator.ts'
import type { Reference, ServerPlan, ServerPlanStatus, ServerWorld } from '../plan/plan.ts'
import { planServer } from '../plan/plan-server.ts'
import { connectionInputs, indexReferences, referencesOf } from '../plan/references.ts'
import { invalidServerStatus } from '../plan/server-status.ts'
import { revisionOf } from '../plan/template.ts'
import type { Manifest } from '../runtime/caches.ts'
import type { Controller } from '../runtime/controller.ts'
import { Queue } from '../runtime/queue.ts'
import { isSameWay, type Target, type Targets } from './discovery-targets.ts'
import type { Manifests } from './parsed-manifests.ts'
import type { ReferenceIndex } from './reference-index.ts'
import type { References } from './reference-reader.ts'
import { createWriters, OBSTACLE_RETRY_MS } from './writers.ts'

const FIELD_MANAGER = 'portolan-server'
const WORKERS = 8
const OWNED = {
  fields: ['observedGeneration', 'endpoint', 'replicas'],
  conditions: [CONDITION.accepted, CONDITION.ready],
}
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
  index.onChange(caches, key => queue.add(key))
  return { name: 'server', queue, workers: WORKERS, reconcile: createReconcile(options) }
}

function createReconcile(options: ServerControllerOptions): Controller['reconcile'] {
  const { caches, manifests, targets } = options
  const writers = createWriters<ServerPlanStatus>(options, FIELD_MANAGER, OWNED)

  const settle = async (object: Manifest, world: ServerWorld, signal: AbortSignal) => {
    const key = keyOf(object)
    let plan = planServer(world)
    const secrets = await writers.ensureSecrets(object, plan, signal)
    // The plan depends on the Secret's version: the cache's change event queues the server again.
    if (secrets.written > 0) return undefined
    const obstacle = await writers.apply(object, plan, secrets, signal)
    if (obstacle) plan = planServer({ ...world, ...obstacle })
    // ConfigMaps are slices: discovery writes and deletes them.
    if (!plan.keep) await writers.prune(object, plan, signal, ['ConfigMap'])
    const [last, target] = [targets.get(key), targetOf(world, plan)]
    targets.set(key, target)
    if (isRepeated(last, target)) return { afterMs: REPEAT_LIMIT_MS }
    await writers.report(object, plan.status, signal)
    return { afterMs: obstacle ? OBSTACLE_RETRY_MS : plan.afterMs }
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
        await writers.report(object, planServer({ ...world, denied: error.message }).status, signal)
        return { afterMs: OBSTACLE_RETRY_MS }
      })
    }
    targets.set(key, undefined)
    await writers.report(object, invalidServerStatus(problems, object.metadata.generation ?? 0), signal)
    return undefined
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

/** Whether only the generation changed. Then the status is skipped: discovery confirms the new generation soon; otherwise Ready flickers. */
function isRepeated(last: Target | undefined, now: Target | undefined): boolean {
  if (!last || !now || !isSameWay(last, now)) return false
  return last.server.metadata.generation !== now.server.metadata.generation
}

/** undefined for a server that must not be asked. */
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
