/** The script controller: writes into the status of each McpScript which gateways offer it, and whether the tools that it names exist. */
import { BoundedMap } from '../../core/bounded-map.ts'
import { isAllowed } from '../../core/catalog/policy.ts'
import { type GivenScript, resolveScripts } from '../../core/catalog/resolve-scripts.ts'
import { selects } from '../../core/catalog/select.ts'
import { type KnownServer, unknownTools } from '../../core/code/unknown-tools.ts'
import { Fault } from '../../core/errors.ts'
import { ApiError } from '../../core/kube/api-error.ts'
import { readCatalog } from '../../core/kube/catalog.ts'
import { type KubeObject, keyOf } from '../../core/kube/object.ts'
import { CONDITION } from '../../crds/conditions.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import type { McpServer } from '../../crds/server.ts'
import type { OperatorContext } from '../operator.ts'
import {
  invalidScriptStatus,
  type ScriptPlace,
  type ScriptPlanStatus,
  scriptStatus,
} from '../plan/script-status.ts'
import type { Manifest } from '../runtime/caches.ts'
import type { Controller } from '../runtime/controller.ts'
import { Queue } from '../runtime/queue.ts'
import type { Manifests } from './parsed-manifests.ts'
import type { SliceSets } from './slice-sets.ts'
import { createWriters } from './writers.ts'

const FIELD_MANAGER = 'portolan-script'
/** Changes within this time are handled in one reconcile. */
const JOIN_MS = 200
/** How many servers' names of tools are remembered; others are read again. */
const MAX_LISTS = 1_000
const OWNED = {
  fields: ['observedGeneration', 'gateways', 'tools'],
  conditions: [CONDITION.accepted, CONDITION.ready],
}

type Options = OperatorContext & { manifests: Manifests; slices: SliceSets }

export type ScriptController = {
  controller: Controller
  /** Call when the slices of a server changed. */
  slicesChanged(server: string): void
}

export function createScriptController(options: Options): ScriptController {
  const { caches, manifests, clock, random } = options
  const queue = new Queue({ clock, random })
  const writers = createWriters<ScriptPlanStatus>(options, FIELD_MANAGER, OWNED)
  const listOf = createLists(options)
  const requeueIn = (namespace: string | undefined) => {
    for (const [key, { metadata }] of caches.scripts.objects)
      if (metadata.namespace === namespace) queue.addAfter(key, JOIN_MS)
  }
  for (const cache of [caches.scripts, caches.gateways, caches.servers])
    cache.onChange((before, now) => {
      if (before === now || relevantPartOf(before) !== relevantPartOf(now))
        requeueIn((now ?? before)?.metadata.namespace)
    })
  return {
    slicesChanged: server => requeueIn(server.split('/', 1)[0]),
    controller: {
      name: 'script',
      queue,
      workers: 1,
      async reconcile(key, signal) {
        const object = caches.scripts.get(key)
        if (!object || object.metadata.deletionTimestamp) return undefined
        const { script, problems = [] } = manifests.script(object)
        const status = script
          ? scriptStatus(script, await placesOf(options, script, listOf, signal))
          : invalidScriptStatus(problems, object.metadata.generation ?? 0)
        await writers.report(object, status, signal)
        return undefined
      },
    },
  }
}

/** The parts of an object that matter here. From the status, which changes often, only whether a gateway is accepted. */
function relevantPartOf(object: Manifest | undefined): string {
  const { generation, labels, deletionTimestamp } = object?.metadata ?? {}
  return JSON.stringify([generation, labels, deletionTimestamp, object && isRefused(object)])
}

function isRefused({ kind, status }: Manifest): boolean {
  const accepted = status?.conditions?.find(({ type }) => type === CONDITION.accepted)
  return kind === 'McpGateway' && accepted?.status === 'False'
}

type ListOf = (server: McpServer, signal: AbortSignal) => Promise<KnownServer>

/** What each gateway of the namespace that selects the script says about it. */
async function placesOf(
  { caches, manifests }: Options,
  script: GivenScript,
  listOf: ListOf,
  signal: AbortSignal,
): Promise<ScriptPlace[]> {
  const { name, namespace } = script.manifest.metadata
  const here = <T extends KubeObject>(objects: ReadonlyMap<string, T>) =>
    [...objects.values()].filter(
      ({ metadata }) => metadata.namespace === namespace && !metadata.deletionTimestamp,
    )
  const scripts = here(caches.scripts.objects).flatMap(object => manifests.script(object).script ?? [])
  const servers = here(caches.servers.objects).flatMap(object => manifests.server(object).manifest ?? [])
  const gateways = here(caches.gateways.objects).filter(gateway => !isRefused(gateway))
  const places: ScriptPlace[] = []
  for (const gateway of gateways.flatMap(object => manifests.gateway(object).manifest ?? [])) {
    const selected = servers.filter(server => isSelected(gateway, server))
    const names = selected.map(server => server.metadata.name)
    const { offered, problems } = resolveScripts(gateway, scripts, names)
    const problem = problems.find(problem => problem.name === name)
    if (problem) places.push({ gateway: gateway.metadata.name, problem })
    if (!offered.includes(script.manifest)) continue
    const known = await Promise.all(selected.map(server => listOf(server, signal)))
    places.push({
      gateway: gateway.metadata.name,
      unknown: unknownTools(script.inspected.tools, known),
    })
  }
  return places
}

function isSelected({ spec }: McpGateway, { metadata }: McpServer): boolean {
  return selects(spec.servers.selector, metadata.labels)
}

/** Returns a function that reads the names of a server's tools as last discovered; each published list is read once. */
function createLists({ client, slices }: Options): ListOf {
  const known = new BoundedMap<{ digest: string; names: string[] }>(MAX_LISTS)
  return async (server, signal) => {
    const { name, namespace = '' } = server.metadata
    const key = keyOf(server as KubeObject)
    const set = slices.whole(key)
    if (!set) return { name }
    let found = known.get(key)
    if (found?.digest !== set.digest) {
      try {
        const { tools } = await readCatalog(client, namespace, name, undefined, signal)
        found = { digest: set.digest, names: tools.map(({ definition }) => definition.name) }
        known.set(key, found)
      } catch (error) {
        // A newer list is being written. Its slices will queue the scripts again.
        if (error instanceof ApiError || !(error instanceof Fault)) throw error
        return { name }
      }
    }
    return { name, tools: found.names.filter(tool => isAllowed(server.spec.tools, tool)) }
  }
}
