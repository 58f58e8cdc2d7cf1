/** A namespace as its user sees it: applies manifests, waits for what they lead to, runs agents in it. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { V1Pod } from '@kubernetes/client-node'
import type { KubeClient } from '../../../core/kube/client.ts'
import { type Kube, type KubeObject, refOf } from '../../../core/kube/object.ts'
import type { Condition } from '../../../crds/conditions.ts'
import type { McpGateway } from '../../../crds/gateway.ts'
import type { McpServer } from '../../../crds/server.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { until } from '../../support/until.ts'
import { type Agent, type AgentOptions, agentPod, readyAgent } from './agent.ts'
import { documentsOf, type Places } from './example-files.ts'

const USER = { fieldManager: 'user', force: true }
const RETRY_MS = 500
const QUIET_MS = 3_000

export type Namespace = {
  name: string
  apply(...manifests: KubeObject[]): Promise<void>
  /** Applies every document of a file, unchanged but for `places`; a namespace in a document takes precedence. */
  applyFile(path: string, places?: Places): Promise<void>
  delete(...manifests: Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>[]): Promise<void>
  server(name: string): Promise<McpServer | undefined>
  gateway(name: string): Promise<McpGateway | undefined>
  pods(instance: string): Promise<Kube<V1Pod>[]>
  /** Waits until each server is ready in its current generation. */
  untilReady(...servers: string[]): Promise<void>
  /** Waits until a condition of a server has this reason; resolves with the condition. */
  untilSaid(server: string, type: string, reason: string, limitMs?: number): Promise<Condition>
  untilSaidOfGateway(gateway: string, type: string, reason: string): Promise<Condition>
  /** Waits until a gateway is ready and every replica serves the newest catalog; with `ready`, until so many servers are ready. */
  untilServing(gateway: string, expected?: { ready?: number; routers?: number }): Promise<McpGateway>
  /** An agent in a pod that is a client of a gateway of this namespace, or of `url`. */
  agent(gateway: string, options?: AgentOptions & { name?: string; url?: string }): Promise<Agent>
  /** Names of all objects of the kinds that the operator makes. */
  made(): Promise<string[]>
  /** resourceVersion of each of these objects, and of our own kinds, once nothing was written for some seconds. */
  quietVersions(): Promise<Record<string, string>>
}

const MADE =
  'deployments,services,configmaps,secrets,serviceaccounts,roles,rolebindings,networkpolicies,persistentvolumeclaims,pdb,hpa,pods'

export async function openNamespace(name: string, client: KubeClient, cluster: Cluster): Promise<Namespace> {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  await client.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }, USER)
  const serviceAccount = { apiVersion: 'v1', kind: 'ServiceAccount', namespace: name, name: 'default' }
  await until('the ServiceAccount default exists', () => client.get(serviceAccount))
  return inNamespace(name, client, cluster)
}

/** A namespace that exists already. */
export function inNamespace(name: string, client: KubeClient, cluster: Cluster): Namespace {
  const own = <T extends Pick<KubeObject, 'kind' | 'metadata'>>(manifest: T) => ({
    ...manifest,
    metadata: { ...(manifest.kind !== 'Namespace' && { namespace: name }), ...manifest.metadata },
  })
  const get = <T extends KubeObject>(kind: string, object: string) =>
    client.get<T>({ apiVersion: 'portolan.dev/v1alpha1', kind, namespace: name, name: object })
  const server = (object: string) => get<McpServer & KubeObject>('McpServer', object)
  const gateway = (object: string) => get<McpGateway & KubeObject>('McpGateway', object)
  const apply = async (...manifests: KubeObject[]) => {
    for (const manifest of manifests) await persist(() => client.apply(own(manifest), USER))
  }
  const versionsOf = async (kinds: string): Promise<Record<string, string>> => {
    const text = await cluster.run(['kubectl', 'get', kinds, '--namespace', name, '--output', 'json'])
    const { items } = JSON.parse(text) as { items: KubeObject[] }
    return Object.fromEntries(
      items.map(({ kind, metadata }) => [`${kind} ${metadata.name}`, metadata.resourceVersion ?? '']),
    )
  }
  return {
    name,
    server,
    gateway,
    apply,
    applyFile: (path, places) => apply(...documentsOf(path, places)),
    async delete(...manifests) {
      for (const manifest of manifests) await client.delete(refOf(own(manifest)))
    },
    async pods(instance) {
      const labelSelector = `app.kubernetes.io/instance=${instance}`
      return (
        await client.list<Kube<V1Pod>>({ apiVersion: 'v1', kind: 'Pod', namespace: name, labelSelector })
      ).items
    },
    ...waiting(server, gateway),
    async agent(of, { name: pod = 'agent', url = `http://${of}-gateway.${name}.svc/mcp`, ...options } = {}) {
      await apply(agentPod(pod, options))
      return readyAgent(cluster, name, pod, url)
    },
    made: async () => Object.keys(await versionsOf(MADE)).sort(),
    async quietVersions() {
      const read = () => versionsOf(`${MADE},mcpservers,mcpgateways`)
      return until('nothing is written any more', async () => {
        const before = await read()
        await sleep(QUIET_MS)
        return JSON.stringify(await read()) === JSON.stringify(before) && before
      })
    },
  }
}

function waiting(
  server: Namespace['server'],
  gateway: Namespace['gateway'],
): Pick<Namespace, 'untilReady' | 'untilSaid' | 'untilSaidOfGateway' | 'untilServing'> {
  const untilSaid: Namespace['untilSaid'] = (name, type, reason, limitMs) =>
    until(
      `server ${name} says ${type} ${reason}`,
      async () => said(await server(name), type, reason),
      limitMs,
    )
  return {
    untilSaid,
    async untilReady(...servers) {
      for (const name of servers) await untilSaid(name, 'Ready', 'Ready')
    },
    untilSaidOfGateway: (name, type, reason) =>
      until(`gateway ${name} says ${type} ${reason}`, async () => said(await gateway(name), type, reason)),
    untilServing: (name, expected) =>
      until(`gateway ${name} serves`, async () => serving(await gateway(name), expected)),
  }
}

/** Throws, with all conditions of the object, until the expected one is observed for its current generation. */
function said(object: McpServer | McpGateway | undefined, type: string, reason: string): Condition {
  const conditions = object?.status?.conditions ?? []
  const found = conditions.find(condition => condition.type === type)
  const generation = object?.metadata.generation
  if (found?.reason === reason && found.observedGeneration === generation) return found
  const all = conditions.map(
    each => `${each.type}=${each.status}/${each.reason} (${each.observedGeneration}): ${each.message}`,
  )
  throw new Error(`of generation ${generation}: ${all.join('; ') || 'nothing'}`)
}

function serving(
  gateway: McpGateway | undefined,
  expected: { ready?: number; routers?: number } = {},
): McpGateway {
  said(gateway, 'Ready', 'Ready')
  const { generation, routers = [], servers } = gateway?.status ?? {}
  const wanted = expected.routers ?? gateway?.spec.router.replicas
  const current = routers.filter(router => router.generation === generation).length
  const enough = expected.ready === undefined || servers?.ready === expected.ready
  if (gateway && enough && routers.length === wanted && current === wanted) return gateway
  throw new Error(JSON.stringify(gateway?.status))
}

/** A policy or a definition that was just installed may not be in force yet. */
async function persist(act: () => Promise<unknown>): Promise<void> {
  for (let attempts = 0; ; attempts++) {
    try {
      await act()
      return
    } catch (error) {
      if (attempts === 10) throw error
      await sleep(RETRY_MS)
    }
  }
}
