/** What plans are made of: the world as observed, and the objects and status that follow from it. Types only. */
import type { V1Deployment, V1Pod } from '@kubernetes/client-node'
import type { SliceSet } from '../../core/catalog/feed.ts'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import type { Problem } from '../../core/errors.ts'
import type { Kube, KubeObject, ObjectRef } from '../../core/kube/object.ts'
import type { Condition } from '../../crds/conditions.ts'
import type { McpGateway, McpGatewayStatus } from '../../crds/gateway.ts'
import type { McpServer, McpServerStatus } from '../../crds/server.ts'
import type { OperatorSettings } from './settings.ts'

/** A condition without its time, which who applies it adds where the status changed. */
export type PlannedCondition = Omit<Condition, 'lastTransitionTime'>

export type Plan<Status> = {
  /**
   * In the order in which they are applied; all in the namespace of their owner, with its owner reference. What the owner
   * owned before and is not among them is deleted, unless `keep` is set.
   */
  objects: KubeObject[]
  /** Not accepted: whatever stands is left as it is, neither written nor deleted. Then `objects` and `secrets` are empty. */
  keep?: true
  /** Secrets that are made once, with random content, and never written again; they come before `objects`. */
  secrets: EnsuredSecret[]
  /** The fields that this controller owns, whole: one that is absent here is taken away. */
  status: Status
  problems: Problem[]
  /** Look again after so many milliseconds, though nothing changed. */
  afterMs?: number
}

/** A Secret whose keys get 32 random bytes each, in base64url. */
export type EnsuredSecret = {
  name: string
  namespace: string
  labels: Record<string, string>
  keys: string[]
}

/** A Secret or ConfigMap that a manifest names, as it was found; never a value of a Secret. */
export type Reference = {
  kind: 'Secret' | 'ConfigMap'
  name: string
  /** Absent where there is no such object. */
  resourceVersion?: string
  keys: string[]
  /** Of ConfigMaps alone. */
  values?: Record<string, string>
}

/** Found under a name that a plan needs, and not ours: it is never touched. */
export type Taken = ObjectRef

export type ServerWorld = {
  /** As the API server has it, with all defaults filled in, `status` included. */
  server: McpServer
  /** Our Deployment for it, where there is one. */
  deployment?: Kube<V1Deployment>
  /** Pods of that Deployment, those on their way out included. */
  pods: readonly Kube<V1Pod>[]
  /** Everything that `env`, `envFrom`, `headers` and `auth` name, each once; the bearer Secret `mcp-<server>` too where it exists. */
  references: readonly Reference[]
  taken: readonly Taken[]
  /** What the API server said of an object of this plan, if it did not take it: then the manifest is to blame. */
  refused?: string
  /** What the API server said where a rule of the cluster stands in the way: a quota, a policy, a right. */
  denied?: string
  settings: OperatorSettings
  /** Milliseconds since the epoch. */
  now: number
}

/** Owned by the server controller; discovery owns the rest. */
export type ServerPlanStatus = Pick<McpServerStatus, 'observedGeneration' | 'endpoint' | 'replicas'> & {
  /** Accepted and Ready. */
  conditions: PlannedCondition[]
}
export type ServerPlan = Plan<ServerPlanStatus>

/** What one router said at its admin port, or that it said nothing. */
export type RouterReport = { pod: string; generation?: number }

export type GatewayWorld = {
  gateway: McpGateway
  /** Every McpServer of the namespace that could be read, with its status. */
  servers: readonly McpServer[]
  /** By server name: the newest whole set of slices. */
  slices: ReadonlyMap<string, SliceSet>
  /** As in ServerWorld, of all these servers together, and what the gateway itself names. */
  references: readonly Reference[]
  /** o200k_base tokens of the overrides' descriptions, by their text, as far as they are counted. */
  descriptionTokens: ReadonlyMap<string, number>
  deployment?: Kube<V1Deployment>
  pods: readonly Kube<V1Pod>[]
  /** resourceVersion of the ConfigMap `<gateway>-router` in the cluster, as a number: the newest generation. */
  generation?: number
  reports: readonly RouterReport[]
  /** The MCP handshake at the gateway's own URL: undefined before the first. */
  handshake?: { ok: true } | { ok: false; message: string }
  /** o200k_base tokens of what tools/list answers, as a router reported them. */
  exposedTokens?: number
  /** How tools are found, as routers reported it. */
  search?: McpGatewayStatus['search']
  taken: readonly Taken[]
  /** As in ServerWorld. */
  refused?: string
  denied?: string
  settings: OperatorSettings
  now: number
}

export type GatewayPlanStatus = Omit<McpGatewayStatus, 'conditions'> & {
  /** Accepted and Ready. */
  conditions: PlannedCondition[]
}
/** What is to be said of it depends on how carrying it out went: `gatewayStatus`. */
export type GatewayPlan = Pick<Plan<GatewayPlanStatus>, 'objects' | 'secrets' | 'afterMs'> & {
  /** Why the gateway is not accepted, and problems that refuse nothing. */
  refusals: Problem[]
  told: Problem[]
  /** What stands in the ConfigMap. */
  config: RouterConfig
  /** That of its routers' pods. */
  revision?: string
}
