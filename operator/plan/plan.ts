/** Input and output of planning: the observed world, and the objects and status that follow from it. Types only. */
import type { V1Deployment, V1PersistentVolumeClaim, V1Pod } from '@kubernetes/client-node'
import type { AccessReport } from '../../core/catalog/access-report.ts'
import type { KeyState } from '../../core/catalog/access-verdicts.ts'
import type { SliceSet } from '../../core/catalog/feed.ts'
import type { GivenScript } from '../../core/catalog/resolve-scripts.ts'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import type { Problem } from '../../core/errors.ts'
import type { Kube, KubeObject, ObjectRef } from '../../core/kube/object.ts'
import type { Condition } from '../../crds/conditions.ts'
import type { McpGateway, McpGatewayStatus } from '../../crds/gateway.ts'
import type { McpServer, McpServerStatus } from '../../crds/server.ts'
import type { ServerCertificate } from './certificate.ts'
import type { Verdict } from './conditions.ts'
import type { PackageReport } from './package-records.ts'
import type { Scale, ScaleMemory, ServerLoad } from './scale.ts'
import type { OperatorSettings } from './settings.ts'
import type { UserDemand } from './user-instances.ts'

/** A condition without its transition time, which the status writer adds. */
export type PlannedCondition = Omit<Condition, 'lastTransitionTime'>

export type Plan<Status> = {
  /**
   * Applied in this order, in the namespace of their owner and with its owner reference. Objects that the owner
   * owned before and that are not among them are deleted, unless `keep` is set.
   */
  objects: KubeObject[]
  /** Set if the manifest is not accepted: existing objects are neither written nor deleted; `objects` and `secrets` are empty. */
  keep?: true
  /** Further objects that are neither written nor deleted. Those of other controllers are not listed here. */
  untouched?: readonly ObjectRef[]
  /** Secrets created once with random content, before `objects`; afterwards only their `values` change. */
  secrets: EnsuredSecret[]
  /** All status fields of this controller: one that is absent here is removed. */
  status: Status
  /** Why the manifest is refused, and warnings. */
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
  /** Keys with public content that is not random: certificates. */
  values?: Record<string, string>
  /** For the instance of the user with this digest: the value of each key is derived from that in the owner's Secret `of`. */
  instance?: { user: string; of: string }
}

/** The observed state of a Secret or ConfigMap that a manifest names; never contains a value of a Secret. */
export type Reference = {
  kind: 'Secret' | 'ConfigMap'
  name: string
  /** If false, `digests` and `values` are those that it had when it was last seen. */
  exists: boolean
  /** A digest of each value, by key. */
  digests: Readonly<Record<string, string>>
  /** ConfigMaps only. */
  values?: Record<string, string>
}

/** An object of another owner that has a name which a plan needs. It is never changed. */
export type Taken = ObjectRef & { owner?: string }

export type ServerWorld = {
  /** As in the API server, with all defaults and `status`. */
  server: McpServer
  /** Its Deployment, if it exists. */
  deployment?: Kube<V1Deployment>
  /** Pods of that Deployment, including terminating ones. */
  pods: readonly Kube<V1Pod>[]
  /** Everything that `env`, `envFrom`, `headers` and `auth` name, each once; also the bearer Secret `mcp-<server>` if it exists. */
  references: readonly Reference[]
  /** Reports of its pods that contradict the records and were not approved. */
  otherContent: readonly PackageReport[]
  /** Reports of its pods that could not be recorded. */
  unrecorded?: readonly PackageReport[]
  /** The API server's message if it does not let the records be read or written. */
  recordsDenied?: string
  taken: readonly Taken[]
  /** Only of a server with `tls`. */
  certificate?: ServerCertificate
  /** What its scaling depends on, as in ScaleInput; absent while unknown. */
  use?: { load: ServerLoad; memory: ScaleMemory; current?: number }
  /** Its existing PersistentVolumeClaims, without those of users. */
  claims: readonly ObjectRef[]
  /** Existing PersistentVolumeClaims of users of which nothing says whose they are. */
  strays?: readonly ObjectRef[]
  /** The existing Secrets with logins of its users. */
  logins?: readonly ObjectRef[]
  /** Absent while unknown. */
  users?: UsersWorld
  /** Why objects of users could not be written, by the ids of the users. */
  hindered?: ReadonlyMap<string, Verdict>
  /** Set while it waits for its turn in an upgrade of the operator: its pods stay as they are. */
  queued?: Queued
  /** The API server's message if it refused an object of this plan as invalid: the cause is the manifest. */
  refused?: string
  /** The API server's message if a quota, an admission policy or missing rights keep an object out. */
  denied?: string
  settings: OperatorSettings
  /** Milliseconds since the epoch. */
  now: number
}

/** The observed users of a server. `user` is the digest of a user. */
export type UsersWorld = {
  demand: UserDemand
  usedAtMs: ReadonlyMap<string, number>
  instances: readonly { user: string; deployment: Kube<V1Deployment>; pods: readonly Kube<V1Pod>[] }[]
  claims: readonly { user: string; claim: Kube<V1PersistentVolumeClaim> }[]
  /** If the server needs Secrets of users: the names of those of users who have an instance or wait for one. `references` has them too. */
  secrets?: ReadonlyMap<string, string>
}

/** The part of the status that the server controller owns; discovery owns the rest. */
export type ServerPlanStatus = Pick<
  McpServerStatus,
  'observedGeneration' | 'endpoint' | 'replicas' | 'users'
> & {
  /** Accepted, Available, Progressing (of a server with pods) and Ready. */
  conditions: PlannedCondition[]
}
export type ServerPlan = Plan<ServerPlanStatus> & {
  /** Revision of its pods; absent for a server without pods. */
  revision?: string
  /** How many instances it has; absent for a server without pods, and for one that is not accepted. */
  scale?: Scale
  /** Whether its pods are replaced only because of an upgrade of the operator, so that it may have to wait for its turn. */
  isUpgrade: boolean
  /** As in Instances: has to be remembered for the next plan. */
  usedAtMs?: ReadonlyMap<string, number>
}

/** What a server waits for in an upgrade. */
export type Queued = {
  /** Some of the servers that are rolling, as `namespace/name`. */
  rolling: readonly string[]
}

/**
 * What a router reports at its admin port; without `generation`, it did not answer. `stale` says why its configuration has been
 * out of date for a while.
 */
export type RouterReport = { pod: string; generation?: number; stale?: string }

/** `subject`: `<issuer>#<subject>` of the user whose Secret has this name. */
export type UserSecretName = { subject: string; name: string }

export type GatewayWorld = {
  gateway: McpGateway
  /** Every McpServer of the namespace that could be parsed, with its status. */
  servers: readonly McpServer[]
  /** Every McpScript of the namespace that could be parsed. */
  scripts?: readonly GivenScript[]
  /** The newest complete set of slices, by server name. */
  slices: ReadonlyMap<string, SliceSet>
  /** As in ServerWorld, for all these servers together and the gateway itself. */
  references: readonly Reference[]
  /** By server name: the existing Secrets of users. `references` has them too. */
  userSecrets?: ReadonlyMap<string, readonly UserSecretName[]>
  /** Names of the Secrets with logins at these servers. `references` has them too. */
  loginSecrets?: readonly string[]
  /** o200k_base tokens of overriding descriptions, by their text; those not counted are absent. */
  descriptionTokens: ReadonlyMap<string, number>
  deployment?: Kube<V1Deployment>
  /** Uid of the routers' ServiceAccount, if it exists. */
  serviceAccount?: string
  pods: readonly Kube<V1Pod>[]
  /** resourceVersion of the ConfigMap `<gateway>-router` in the cluster, as a number: the newest generation. */
  generation?: number
  reports: readonly RouterReport[]
  /** The latest MCP handshake at the gateway's URL; undefined before the first. */
  handshake?: { ok: true } | { ok: false; message: string }
  /** o200k_base tokens of what tools/list answers, as a router reported them. */
  exposedTokens?: number
  /** How routers search tools, as they report it. */
  search?: McpGatewayStatus['search']
  /** What routers report of authentication and access: the keys that each of them has, and what the rules grant in the newest catalog. */
  access?: { keys: KeyState[]; report: AccessReport }
  taken: readonly Taken[]
  /** As in ServerWorld. */
  refused?: string
  denied?: string
  settings: OperatorSettings
  now: number
}

export type GatewayPlanStatus = Omit<McpGatewayStatus, 'conditions'> & {
  /** Accepted, Available and Ready; Progressing, AuthReady and AccessResolved, if it is accepted. */
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
