/** A namespace of a real API server with its own operator, for tests without nodes: the tests write the status of pods. */
import type { TestContext } from 'node:test'
import type { V1Deployment } from '@kubernetes/client-node'
import { delay, systemClock } from '../../core/async.ts'
import type { Access } from '../../core/kube/access.ts'
import { KubeClient } from '../../core/kube/client.ts'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import { createLog } from '../../core/log.ts'
import type { Condition } from '../../crds/conditions.ts'
import type { McpGateway, McpGatewaySpec } from '../../crds/gateway.ts'
import { API_VERSION } from '../../crds/object-meta.ts'
import type { McpServer, McpServerSpecInput } from '../../crds/server.ts'
import { type Connectors, createControllers } from '../../operator/controllers/controllers.ts'
import { type OpenEncoder, type Operator, startOperator } from '../../operator/operator.ts'
import type { OperatorSettings } from '../../operator/plan/settings.ts'
import { createLeapClock, type LeapClock } from '../support/leap-clock.ts'
import { until } from '../support/until.ts'

const LIMIT_MS = 30_000
const RESYNC_MS = 24 * 60 * 60_000
const manager = { fieldManager: 'test', force: true }

export type World = {
  client: KubeClient
  namespace: string
  clock: LeapClock
  /** Starts another operator, after the first was stopped. */
  start(options?: { resyncMs?: number; settings?: Partial<OperatorSettings> }): Promise<Operator>
  operator: () => Operator
  apply<T extends KubeObject>(object: T): Promise<T>
  server(name: string, spec: McpServerSpecInput, metadata?: object): Promise<McpServer>
  gateway(name: string, spec?: Partial<McpGatewaySpec>): Promise<McpGateway>
  delete(
    kind: 'McpServer' | 'McpGateway' | 'Secret' | 'ConfigMap' | 'ServiceAccount',
    name: string,
  ): Promise<void>
  get<T extends KubeObject>(apiVersion: string, kind: string, name: string): Promise<T | undefined>
  /** The McpServer once `check` says so; throws with its status where that takes too long. */
  until(name: string, check: (server: McpServer) => boolean): Promise<McpServer>
  untilGateway(name: string, check: (gateway: McpGateway) => boolean): Promise<McpGateway>
  /** Writes the status of a Deployment: all its pods are of the newest template, and this many are ready. */
  roll(deployment: string, ready: number): Promise<void>
  /** resourceVersions of everything in the namespace but events and leases, once nothing has been written for a while. */
  quiet(): Promise<Map<string, string>>
}

export type WorldOptions = {
  connectors?: Connectors
  concurrency?: number
  logLevel?: 'silent' | 'debug'
  /** Default: no encoder. */
  openEncoder?: OpenEncoder
  settings?: Partial<OperatorSettings>
}

const SETTINGS: Omit<OperatorSettings, 'namespace'> = {
  image: 'portolan/portolan:test',
  imagePullPolicy: 'Never',
  imagePullSecrets: [],
  delivery: 'initContainer',
  npm: { image: 'node:24-bookworm-slim' },
  pypi: { image: 'python:3.13-slim-bookworm' },
  waves: { share: 0.1, perNamespace: 1 },
  networkPolicies: true,
  tokenReviewBinding: '',
  dns: [],
  metricsFrom: [],
  // Remote servers of tests are on loopback.
  permitted: { podFields: [], registries: [], remoteHosts: ['*', '127.0.0.1'], refusedAddresses: [] },
  resources: { server: {}, router: {}, install: {} },
  routerTracing: {},
}

const KINDS = [
  ['v1', 'ConfigMap'],
  ['v1', 'Secret'],
  ['v1', 'Service'],
  ['v1', 'PersistentVolumeClaim'],
  ['v1', 'ServiceAccount'],
  ['apps/v1', 'Deployment'],
  ['policy/v1', 'PodDisruptionBudget'],
  ['networking.k8s.io/v1', 'NetworkPolicy'],
  ['rbac.authorization.k8s.io/v1', 'Role'],
  ['rbac.authorization.k8s.io/v1', 'RoleBinding'],
  [API_VERSION, 'McpServer'],
  [API_VERSION, 'McpGateway'],
] as const
/** Longer than the operator waits to join changes. */
const QUIET_MS = 1_500

/** Everything that it starts ends with the test. */
export async function createWorld(
  t: Pick<TestContext, 'after'>,
  access: Access,
  namespace: string,
  options: WorldOptions = {},
): Promise<World> {
  const client = new KubeClient(access)
  const clock = createLeapClock()
  // The operator serves nothing in its own namespace.
  const system = `${namespace}-system`
  const log = createLog({ level: options.logLevel ?? 'silent' })
  let running: Operator | undefined
  const start: World['start'] = async ({ resyncMs = RESYNC_MS, settings } = {}) => {
    running = await startOperator({
      client,
      leaseClient: client,
      // Only the controllers get the leap clock: with it, the lease would be lost and watches would break.
      createControllers: context => createControllers({ ...context, clock }, options.connectors),
      settings: { ...SETTINGS, namespace: system, ...options.settings, ...settings },
      namespaces: [namespace],
      pod: 'operator',
      resyncMs,
      discoveryConcurrency: options.concurrency ?? 16,
      openEncoder: options.openEncoder ?? (async () => undefined),
      port: 0,
      log,
      clock: systemClock,
      random: () => 0.5,
    })
    return running
  }
  t.after(async () => {
    await running?.stop()
    await client.close()
  })
  for (const name of [system, namespace])
    await client.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }, manager)
  await start()
  return {
    client,
    namespace,
    clock,
    start,
    operator: () => running as Operator,
    ...writing(client, namespace),
    ...reading(client, namespace),
    roll: (deployment, ready) => roll(client, namespace, deployment, ready),
  }
}

async function roll(
  client: KubeClient,
  namespace: string,
  name: string,
  readyReplicas: number,
): Promise<void> {
  const ref = { apiVersion: 'apps/v1', kind: 'Deployment', namespace, name }
  const found = await client.get<Kube<V1Deployment>>(ref)
  const { generation: observedGeneration = 0 } = found?.metadata ?? {}
  const replicas = found?.spec?.replicas ?? 0
  const counts = { replicas, updatedReplicas: replicas, readyReplicas, availableReplicas: readyReplicas }
  const { apiVersion, kind } = ref
  const object = {
    apiVersion,
    kind,
    metadata: { name, namespace },
    status: { ...counts, observedGeneration },
  }
  await client.applyStatus(object, manager)
}

function writing(
  client: KubeClient,
  namespace: string,
): Pick<World, 'apply' | 'server' | 'gateway' | 'delete'> {
  const apply: World['apply'] = object =>
    client.apply({ ...object, metadata: { ...object.metadata, namespace } }, manager)
  const own = (kind: 'McpServer' | 'McpGateway', name: string, spec: object, metadata: object = {}) =>
    apply({ apiVersion: API_VERSION, kind, metadata: { ...metadata, name }, spec } as KubeObject)
  return {
    apply,
    server: async (name, spec, metadata) => (await own('McpServer', name, spec, metadata)) as McpServer,
    gateway: async (name, spec = {}) => (await own('McpGateway', name, spec)) as McpGateway,
    async delete(kind, name) {
      const apiVersion = kind.startsWith('Mcp') ? API_VERSION : 'v1'
      await client.delete({ apiVersion, kind, namespace, name })
    },
  }
}

function reading(
  client: KubeClient,
  namespace: string,
): Pick<World, 'get' | 'until' | 'untilGateway' | 'quiet'> {
  const untilObject = <T>(kind: string, name: string, check: (object: T) => boolean) =>
    until(
      `${kind} ${name}: ${check}`,
      async () => {
        const found = (await client.get({ apiVersion: API_VERSION, kind, namespace, name })) as T | undefined
        if (found && check(found)) return found
        throw new Error(JSON.stringify(found, null, 1))
      },
      LIMIT_MS,
    )
  const versions = async () => {
    const lists = await Promise.all(
      KINDS.map(([apiVersion, kind]) => client.list({ apiVersion, kind, namespace })),
    )
    const objects = lists.flatMap(({ items }) => items)
    return new Map(
      objects.map(({ kind, metadata }) => [`${kind}/${metadata.name}`, metadata.resourceVersion ?? '']),
    )
  }
  return {
    get: (apiVersion, kind, name) => client.get({ apiVersion, kind, namespace, name }),
    until: (name, check) => untilObject<McpServer>('McpServer', name, check),
    untilGateway: (name, check) => untilObject<McpGateway>('McpGateway', name, check),
    async quiet() {
      for (let before = await versions(); ; ) {
        await delay(systemClock, QUIET_MS)
        const now = await versions()
        if (JSON.stringify([...now]) === JSON.stringify([...before])) return now
        before = now
      }
    },
  }
}

type Status = { conditions?: readonly Condition[] }

export function conditionOf(status: Status | undefined, type: string): Condition | undefined {
  return status?.conditions?.find(condition => condition.type === type)
}

/** The reason of a condition, whatever its status. */
export function reasonOf({ status }: McpServer | McpGateway, type: string): string | undefined {
  return conditionOf(status, type)?.reason
}

export function isReady(resource: McpServer | McpGateway): boolean {
  const ready = conditionOf(resource.status, 'Ready')
  return ready?.status === 'True' && ready.observedGeneration === resource.metadata.generation
}
