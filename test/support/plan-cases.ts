/** The golden cases of plans: reads manifests and the observed world from YAML, and plans them as the operator does. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { V1Deployment, V1Pod } from '@kubernetes/client-node'
import { parseAllDocuments } from 'yaml'
import { instanceName } from '../../core/catalog/object-names.ts'
import type { Problem } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'
import type { Kube } from '../../core/kube/object.ts'
import { idOfUser, userNamed } from '../../core/mcp/user.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import { parseManifest } from '../../crds/parse.ts'
import type { McpScript } from '../../crds/script.ts'
import type { McpServer } from '../../crds/server.ts'
import { gatewayStatus } from '../../operator/plan/gateway-status.ts'
import { merge } from '../../operator/plan/merge.ts'
import { ANNOTATION } from '../../operator/plan/names.ts'
import type {
  GatewayPlan,
  GatewayPlanStatus,
  GatewayWorld,
  ServerPlan,
  ServerWorld,
  UserSecretName,
  UsersWorld,
} from '../../operator/plan/plan.ts'
import { planGateway } from '../../operator/plan/plan-gateway.ts'
import { planServer } from '../../operator/plan/plan-server.ts'
import type { OperatorSettings } from '../../operator/plan/settings.ts'
import { revisionOf } from '../../operator/plan/template.ts'
import { inspected } from './fields.ts'

export const PLAN_CASES = join(dirname(import.meta.dirname), 'golden', 'plan')
export const NAMESPACE = 'team'
export const NOW = Date.UTC(2026, 0, 1)
/** The uid of the routers' ServiceAccount. */
const SERVICE_ACCOUNT = '6a1f'

export const SETTINGS: OperatorSettings = {
  namespace: 'portolan-system',
  image: 'portolan/portolan:1.0.0',
  imagePullPolicy: 'IfNotPresent',
  imagePullSecrets: [],
  delivery: 'initContainer',
  npm: { image: 'node:24-bookworm-slim' },
  pypi: { image: 'python:3.13-slim-bookworm' },
  user: 65532,
  waves: { share: 0.1, perNamespace: 1 },
  networkPolicies: true,
  tokenReviewBinding: 'portolan-token-review',
  dns: [
    {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } },
      podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } },
    },
  ],
  metricsFrom: [],
  permitted: { podFields: [], registries: [], remoteHosts: [], refusedAddresses: [] },
  resources: {
    server: { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '512Mi' } },
    router: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } },
    install: { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '1Gi' } },
  },
  routerTracing: {},
}

/** The document `kind: World` of a case: the state that the operator would observe. */
type World = {
  kind: 'World'
  settings?: Partial<OperatorSettings>
  /** The parts of the plan that the golden file contains. Default: all. */
  show?: string[]
  /** The observed Deployment: as planned or, if `outdated`, of the previous revision. */
  deployment?: { outdated?: boolean; generation?: number; replicas?: number; status?: object }
  pods?: { name: string; old?: boolean; leaving?: boolean; status: object }[]
  references?: ServerWorld['references']
  taken?: ServerWorld['taken']
  otherContent?: ServerWorld['otherContent']
  claims?: string[]
  refused?: string
  queued?: ServerWorld['queued']
  use?: ServerWorld['use']
  slices?: Record<string, { digest: string; parts: number }>
  userSecrets?: Record<string, UserSecretName[]>
  loginSecrets?: string[]
  /** Users by their subjects: who has an instance, who waits for one, and how long ago each was used. */
  users?: {
    existing: string[]
    waiting: string[]
    usedBefore: Record<string, number>
    /** Who has a volume, and for how long it was not used. */
    claims?: Record<string, number>
  }
} & Partial<
  Pick<GatewayWorld, 'generation' | 'reports' | 'handshake' | 'exposedTokens' | 'search' | 'access'>
>

/** A gateway's plan, with its status and problems. */
export type GatewayPlanWithStatus = Pick<GatewayPlan, 'objects' | 'secrets' | 'afterMs' | 'config'> & {
  status: GatewayPlanStatus
  problems: Problem[]
}
export type PlanCase = {
  name: string
  show?: string[]
  /** The message with which the API server refuses the objects. */
  refused?: string
  plans: (ServerPlan | GatewayPlanWithStatus)[]
}

export function planCases(): PlanCase[] {
  return readdirSync(PLAN_CASES)
    .filter(file => file.endsWith('.yaml'))
    .map(file => planCase(file.replace(/\.yaml$/, ''), readFileSync(join(PLAN_CASES, file), 'utf8')))
}

/** Plans the gateways of the file, with all its servers; if there is no gateway, plans each server. */
export function planCase(name: string, text: string): PlanCase {
  const documents = parseAllDocuments(text).map(document => document.toJS() as unknown)
  const world = (documents.find(document => isObject(document) && document.kind === 'World') ?? {}) as World
  const manifests = documents.filter(document => document !== world).map(manifestOf)
  const servers = manifests.filter(manifest => manifest.kind === 'McpServer')
  const gateways = manifests.filter(manifest => manifest.kind === 'McpGateway')
  const scripts = manifests.filter(manifest => manifest.kind === 'McpScript').map(inspected)
  const plans =
    gateways.length > 0
      ? gateways.map(gateway =>
          planInWorld(
            seen => planWithStatus({ ...gatewayWorld(gateway, servers, world, seen), scripts }),
            world,
          ),
        )
      : servers.map(server => planInWorld(seen => planServer(serverWorld(server, world, seen)), world))
  return { name, show: world.show, refused: world.refused, plans }
}

function planWithStatus(world: GatewayWorld): GatewayPlanWithStatus {
  const plan = planGateway(world)
  const { objects, secrets, refusals, warnings, afterMs, config } = plan
  const status = gatewayStatus(world, plan)
  return {
    objects,
    secrets,
    status,
    problems: [...refusals, ...warnings],
    ...(afterMs !== undefined && { afterMs }),
    config,
  }
}

type Seen = { deployment?: Kube<V1Deployment>; pods: Kube<V1Pod>[] }

/** Plans twice: the first plan provides the Deployment that the world contains for the second. */
function planInWorld<P extends ServerPlan | GatewayPlanWithStatus>(plan: (seen: Seen) => P, world: World): P {
  const first = plan({ pods: [] })
  const planned = first.objects.find(({ kind }) => kind === 'Deployment') as Kube<V1Deployment> | undefined
  if (!planned || !world.deployment) return first
  const { outdated = false, generation = 1, replicas, status = {} } = world.deployment
  const revision = revisionOf(planned.spec?.template ?? {}) ?? ''
  const deployment = merge(planned, {
    metadata: { generation },
    spec: {
      template: withRevision(outdated ? 'before' : revision),
      ...(replicas !== undefined && { replicas }),
    },
    status: { observedGeneration: generation, ...status },
  })
  const pods = (world.pods ?? []).map(({ name, old, leaving, status }) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    ...merge(withRevision(old ? 'before' : revision), {
      metadata: { name, ...(leaving && { deletionTimestamp: 'now' }) },
    }),
    status,
  }))
  return plan({ deployment, pods: pods as unknown as Kube<V1Pod>[] })
}

function withRevision(revision: string) {
  return { metadata: { annotations: { [ANNOTATION.revision]: revision } } }
}

function serverWorld(server: McpServer, world: World, seen: Seen): ServerWorld {
  const { settings, references = [], taken = [], refused } = world
  const { otherContent = [], queued, use } = world
  const users = world.users && usersWorld(server, world, world.users)
  const claims = (world.claims ?? []).map(name => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    namespace: NAMESPACE,
    name,
  }))
  const observed = { server, references, taken, refused, otherContent, queued, use, claims, users }
  return { ...observed, settings: { ...SETTINGS, ...settings }, now: NOW, ...seen }
}

/** All existing instances are ready, and of an unknown revision. */
function usersWorld(
  { metadata: { name } }: McpServer,
  { userSecrets = {} }: World,
  { existing, waiting, usedBefore, claims = {} }: NonNullable<World['users']>,
): UsersWorld {
  const digestOf = (subject: string) => userNamed(subject)?.digest ?? ''
  const secrets = (userSecrets[name] ?? []).map(({ subject, name }) => [digestOf(subject), name] as const)
  const used = Object.entries(usedBefore).map(([subject, ms]) => [digestOf(subject), NOW - ms] as const)
  return {
    demand: { isKnown: true, waiting: waiting.map(digestOf), used: new Map(used) },
    usedAtMs: new Map(),
    instances: existing.map(subject => {
      const metadata = { name: instanceName(name, idOfUser(digestOf(subject))), namespace: NAMESPACE }
      const status = { replicas: 1, readyReplicas: 1, updatedReplicas: 1 }
      const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata, status }
      return { user: digestOf(subject), deployment: deployment as Kube<V1Deployment>, pods: [] }
    }),
    claims: Object.entries(claims).map(([subject, ms]) => {
      const annotations = { [ANNOTATION.unusedSince]: String(NOW - ms) }
      const metadata = {
        name: instanceName(name, idOfUser(digestOf(subject))),
        namespace: NAMESPACE,
        annotations,
      }
      const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '512Mi' } } }
      return {
        user: digestOf(subject),
        claim: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec },
      }
    }),
    secrets: new Map(secrets),
  }
}

function gatewayWorld(gateway: McpGateway, servers: McpServer[], world: World, seen: Seen): GatewayWorld {
  const {
    settings,
    references = [],
    taken = [],
    slices = {},
    userSecrets = {},
    loginSecrets,
    reports = [],
    generation,
    handshake,
    exposedTokens,
    search,
    access,
    refused,
  } = world
  return {
    gateway,
    serviceAccount: SERVICE_ACCOUNT,
    servers,
    slices: new Map(Object.entries(slices)),
    userSecrets: new Map(Object.entries(userSecrets)),
    loginSecrets,
    references,
    descriptionTokens: new Map(),
    generation,
    reports,
    handshake,
    exposedTokens,
    search,
    access,
    taken,
    refused,
    settings: { ...SETTINGS, ...settings },
    now: NOW,
    ...seen,
  }
}

/** The manifest as the API server would return it: with a namespace, a generation and all defaults. */
function manifestOf(value: unknown): McpServer | McpGateway | McpScript {
  const given = merge(
    { apiVersion: 'portolan.dev/v1alpha1', metadata: { namespace: NAMESPACE, generation: 1 } },
    value,
  )
  const { manifest, problems } = parseManifest(given)
  assert.ok(manifest && 'spec' in manifest, JSON.stringify(problems))
  return manifest
}
