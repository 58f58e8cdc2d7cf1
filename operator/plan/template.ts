/** Builds pod templates from our defaults and the manifest's additions. Pure. */
import { createHash } from 'node:crypto'
import type {
  V1PodSpec,
  V1PodTemplateSpec,
  V1TopologySpreadConstraint,
  V1Volume,
} from '@kubernetes/client-node'
import { canonicalJson, isObject, type JsonObject } from '../../core/json.ts'
import type { JsonOf } from '../../core/kube/object.ts'
import { merge } from './merge.ts'
import { ANNOTATION, type Component, labelsOf, selectorOf } from './names.ts'

/** The `emptyDir` volumes that do not keep the cluster autoscaler from evicting a pod, and so from removing its node. */
const EVICTABLE = 'cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes'

export type PodParts = {
  component: Component
  instance: string
  /** Id of the user that the pod belongs to; absent for pods that all callers share. */
  user?: string
  annotations: Record<string, string>
  /** Whether its `emptyDir` volumes may have files of single clients or users, which are lost with the pod. */
  keepsFiles?: boolean
  spec: JsonOf<V1PodSpec>
}

/**
 * The pod template of `parts` with what the manifest adds, and a digest of all this as its revision. `pod` comes from the manifest: a pod's spec, its
 * `metadata`, and `resources`, which replace those of the container named `container`. Labels that select the pods cannot be overridden.
 */
export function podTemplate(
  parts: PodParts,
  container: string,
  pod: unknown = {},
): JsonOf<V1PodTemplateSpec> {
  const { metadata, resources, ...spec } = isObject(pod) ? pod : {}
  const defaults =
    resources === undefined ? parts.spec : withResources(parts.spec, container, resources as JsonObject)
  const { labels, annotations } = isObject(metadata) ? metadata : {}
  const merged = merge(defaults, spec)
  const given = merge(evictable(parts, merged), annotations ?? {})
  const template = {
    metadata: {
      labels: merge(labels ?? {}, labelsOf(parts.component, parts.instance, parts.user)) as Record<
        string,
        string
      >,
      annotations: merge(given, parts.annotations),
    },
    spec: merged,
  }
  template.metadata.annotations = {
    ...template.metadata.annotations,
    [ANNOTATION.revision]: digest(template),
  }
  return template
}

/**
 * Spreads pods over nodes and zones where possible. Zones use an anti-affinity: the scheduler ignores nodes that lack one of
 * several topology keys in its spread constraints, and many clusters have no zones.
 */
export function spread(
  component: Component,
  instance: string,
): Pick<JsonOf<V1PodSpec>, 'topologySpreadConstraints' | 'affinity'> {
  const labelSelector = { matchLabels: selectorOf(component, instance) }
  const node: JsonOf<V1TopologySpreadConstraint> = {
    topologyKey: 'kubernetes.io/hostname',
    maxSkew: 1,
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector,
    // Do not count pods of the previous revision.
    matchLabelKeys: ['pod-template-hash'],
  }
  const zone = { weight: 50, podAffinityTerm: { topologyKey: 'topology.kubernetes.io/zone', labelSelector } }
  return {
    topologySpreadConstraints: [node],
    affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [zone] } },
  }
}

/** Places all pods on one node, also those of different revisions, since only one node can mount a ReadWriteOnce volume. */
export function onOneNode(component: Component, instance: string): Pick<JsonOf<V1PodSpec>, 'affinity'> {
  const term = {
    topologyKey: 'kubernetes.io/hostname',
    labelSelector: { matchLabels: selectorOf(component, instance) },
  }
  return { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } }
}

/** The annotation for our own volumes: `merge` keeps those that the manifest does not replace. */
function evictable(
  { spec: { volumes: ours = [] }, keepsFiles = false }: PodParts,
  { volumes }: { volumes?: unknown },
): Record<string, string> {
  const isKept = (one: JsonOf<V1Volume>) => one.emptyDir && Array.isArray(volumes) && volumes.includes(one)
  const names = ours.filter(isKept).map(({ name }) => name)
  return keepsFiles || names.length === 0 ? {} : { [EVICTABLE]: names.join(',') }
}

function withResources(spec: JsonOf<V1PodSpec>, name: string, resources: JsonObject): JsonOf<V1PodSpec> {
  const containers = spec.containers.map(container =>
    container.name === name ? { ...container, resources } : container,
  )
  return { ...spec, containers }
}

function digest(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, 16)
}

/** The revision of a pod or template; undefined if it is not ours. */
export function revisionOf(template: {
  metadata?: { annotations?: Record<string, string> }
}): string | undefined {
  return template.metadata?.annotations?.[ANNOTATION.revision]
}
