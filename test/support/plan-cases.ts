/** The golden cases of plans: reads manifests and the observed world from YAML, and plans them as the operator does. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { V1Deployment, V1Pod } from '@kubernetes/client-node'
import { parseAllDocuments } from 'yaml'
import type { Problem } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'
import type { Kube } from '../../core/kube/object.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import { parseManifest } from '../../crds/parse.ts'
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
} from '../../operator/plan/plan.ts'
import { planGateway } from '../../operator/plan/plan-gateway.ts'
import { planServer } from '../../operator/plan/plan-server.ts'
import type { OperatorSettings } from '../../operator/plan/settings.ts'
import { revisionOf } from '../../operator/plan/template.ts'

export const PLAN_CASES = join(dirname(import.meta.dirname), 'golden', 'plan')
export const NAMESPACE = 'team'
export const NOW = Date.UTC(2026, 0, 1)

export const SETTINGS: OperatorSettings = {
  namespace: 'portolan-system',
  image: 'portolan/portolan:1.0.0',
  imagePullPolicy: 'IfNotPresent',
  imagePullSecrets: [],
  delivery: 'initContainer',
  npm: { image: 'node:24-bookworm-slim' },
  pypi: { image: 'python:3.13-slim-bookworm' },
  networkPolicies: true,
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
  refused?: string
  slices?: Record<string, { digest: string; parts: number }>
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
  const plans =
    gateways.length > 0
      ? gateways.map(gateway =>
          planInWorld(seen => planWithStatus(gatewayWorld(gateway, servers, world, seen)), world),
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
  return { server, references, taken, refused, settings: { ...SETTINGS, ...settings }, now: NOW, ...seen }
}

function gatewayWorld(gateway: McpGateway, servers: McpServer[], world: World, seen: Seen): GatewayWorld {
  const {
    settings,
    references = [],
    taken = [],
    slices = {},
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
    servers,
    slices: new Map(Object.entries(slices)),
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
function manifestOf(value: unknown): McpServer | McpGateway {
  const given = merge(
    { apiVersion: 'portolan.dev/v1alpha1', metadata: { namespace: NAMESPACE, generation: 1 } },
    value,
  )
  const { manifest, problems } = parseManifest(given)
  assert.ok(manifest?.kind === 'McpServer' || manifest?.kind === 'McpGateway', JSON.stringify(problems))
  return manifest
}
