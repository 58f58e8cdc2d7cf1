/** Input and output of planning: the observed world, and the objects and status that follow from it. Types only. */
import type { V1Deployment, V1Pod } from '@kubernetes/client-node'
import type { AccessReport } from '../../core/catalog/access-report.ts'
import type { KeyState } from '../../core/catalog/access-verdicts.ts'
import type { SliceSet } from '../../core/catalog/feed.ts'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import type { Problem } from '../../core/errors.ts'
import type { Kube, KubeObject, ObjectRef } from '../../core/kube/object.ts'
import type { Condition } from '../../crds/conditions.ts'
import type { McpGateway, McpGatewayStatus } from '../../crds/gateway.ts'
import type { McpServer, McpServerStatus } from '../../crds/server.ts'
import type { OperatorSettings } from './settings.ts'

/** A condition without its transition time, which the status writer adds. */
export type PlannedCondition = Omit<Condition, 'lastTransitionTime'>

export type Plan<Status> = {
  /**
   * Applied in this order, in the namespace of their owner and with its owner reference. Objects that the owner
   * owned before and that are not among them are deleted, unless `keep` is set.
   */
  objects: KubeObject[]
  /** Not accepted: existing objects are neither written nor deleted. Then `objects` and `secrets` are empty. */
  keep?: true
  /** Secrets created once with random content, before `objects`, and not changed afterwards. */
  secrets: EnsuredSecret[]
  /** All status fields of this controller: one that is absent here is removed. */
  status: Status
  problems: Problem[]
  /** Reconcile again after this time even if nothing changed. */
  afterMs?: number
}

/** A Secret whose keys get 32 random bytes each, in base64url. */
export type EnsuredSecret = {
  name: string
  namespace: string
  labels: Record<string, string>
  keys: string[]
}

/** The observed state of a Secret or ConfigMap that a manifest names; never contains a value of a Secret. */
export type Reference = {
  kind: 'Secret' | 'ConfigMap'
  name: string
  /** Absent if there is no such object. */
  resourceVersion?: string
  keys: string[]
  /** ConfigMaps only. */
  values?: Record<string, string>
}

/** An object with a name that a plan needs, but of another owner: it is never changed. */
export type Taken = ObjectRef

export type ServerWorld = {
  /** As in the API server, with all defaults and `status`. */
  server: McpServer
  /** Its Deployment, if it exists. */
  deployment?: Kube<V1Deployment>
  /** Pods of that Deployment, including terminating ones. */
  pods: readonly Kube<V1Pod>[]
  /** Everything that `env`, `envFrom`, `headers` and `auth` name, each once; also the bearer Secret `mcp-<server>` if it exists. */
  references: readonly Reference[]
  taken: readonly Taken[]
  /** The API server's message if it refused an object of this plan as invalid: the cause is the manifest. */
  refused?: string
  /** The API server's message if a quota, an admission policy or missing rights keep an object out. */
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

/** What a router reports at its admin port; without `generation`, it did not answer. */
export type RouterReport = { pod: string; generation?: number }

export type GatewayWorld = {
  gateway: McpGateway
  /** Every McpServer of the namespace that could be parsed, with its status. */
  servers: readonly McpServer[]
  /** The newest complete set of slices, by server name. */
  slices: ReadonlyMap<string, SliceSet>
  /** As in ServerWorld, for all these servers together and the gateway itself. */
  references: readonly Reference[]
  /** o200k_base tokens of overriding descriptions, by their text; those not counted are absent. */
  descriptionTokens: ReadonlyMap<string, number>
  deployment?: Kube<V1Deployment>
  pods: readonly Kube<V1Pod>[]
  /** resourceVersion of the ConfigMap `<gateway>-router` in the cluster, as a number: the newest generation. */
  generation?: number
  reports: readonly RouterReport[]
  /** The latest MCP handshake at the gateway's URL; undefined before the first. */
  handshake?: { ok: true } | { ok: false; message: string }
  /** o200k_base tokens of what tools/list answers, as a router reported them. */
  exposedTokens?: number
  /** How routers report to search tools. */
  search?: McpGatewayStatus['search']
  /** How routers report authentication and access to stand: the keys of each, and what the rules grant in the newest catalog. */
  access?: { keys: KeyState[]; report: AccessReport }
  taken: readonly Taken[]
  /** As in ServerWorld. */
  refused?: string
  denied?: string
  settings: OperatorSettings
  now: number
}

export type GatewayPlanStatus = Omit<McpGatewayStatus, 'conditions'> & {
  /** Accepted and Ready; AuthReady and AccessResolved, if it is accepted. */
  conditions: PlannedCondition[]
}
/** The status depends on how applying the plan went: see `gatewayStatus`. */
export type GatewayPlan = Pick<Plan<GatewayPlanStatus>, 'objects' | 'secrets' | 'afterMs'> & {
  /** Why the gateway is not accepted. */
  refusals: Problem[]
  warnings: Problem[]
  /** The content of the feed. */
  config: RouterConfig
  /** Revision of the routers' pod template. */
  revision?: string
}
