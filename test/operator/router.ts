/** A fake router for tests of the operator: the status of its pod, and an admin port that answers as a test wants. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import type { V1Deployment } from '@kubernetes/client-node'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import { ADMIN_PORT } from '../../operator/plan/names.ts'
import { until } from '../support/until.ts'
import type { World } from './world.ts'

const EVENT = 'event: waiting\ndata: []\n\n'

/** Serves the admin port of a router at `address`, a loopback address. Without `streams` it has no stream of events. */
export async function startRouter(t: TestContext, address: string, { streams = false } = {}) {
  let status: object | undefined = { generation: 1, exposedTokens: 5 }
  let asked = 0
  const open = new Set<ServerResponse>()
  let hasStream = streams
  const server = createServer(({ url }, response) => {
    if (url === '/events') return hasStream ? stream(response) : response.writeHead(404).end()
    asked++
    if (status) response.end(JSON.stringify(status))
  })
  const stream = (response: ServerResponse) => {
    response.once('close', () => open.delete(response))
    open.add(response.writeHead(200, { 'content-type': 'text/event-stream' }))
    response.write(EVENT)
  }
  server.listen(ADMIN_PORT, address)
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    /** Undefined: it accepts requests and never answers them. */
    says: (next: object | undefined) => {
      status = next
    },
    /** Sends a comment on each stream, which only shows that the stream is open. */
    keepsAlive: () => {
      for (const response of open) response.write(':\n\n')
    },
    /** Sends an event on each stream: its status has changed. */
    tells: () => {
      for (const response of open) response.write(EVENT)
    },
    /** Ends its streams, and answers 404 to new ones. */
    breaks: () => {
      hasStream = false
      for (const response of open) response.destroy()
    },
    isFollowed: () => open.size > 0,
    /** How often its status was read. */
    asked: () => asked,
  }
}

/** Does what a cluster would do: creates a pod that is ready, and counts it in the status of the Deployment. */
export async function runRouter(world: World, gateway: string, podIP: string): Promise<void> {
  const name = `${gateway}-gateway`
  // The operator creates it after its ServiceAccount.
  const deployment = await until(() => world.get<Kube<V1Deployment>>('apps/v1', 'Deployment', name))
  const { metadata, spec } = deployment.spec?.template ?? {}
  const owned = ofReplicaSet(name, metadata?.labels)
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, ...owned, name: `${gateway}-router` },
    spec,
  }
  const made = await world.apply(pod as KubeObject)
  const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }
  const status = { phase: 'Running', podIP, podIPs: [{ ip: podIP }], conditions: [ready] }
  await world.client.applyStatus({ ...made, status }, { fieldManager: 'test', force: true })
  await world.roll(name, 1)
}

/** What tells that a ReplicaSet of a Deployment controls a pod. */
export function ofReplicaSet(deployment: string, labels: object = {}) {
  const set = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `${deployment}-6b7f`, uid: 'set' }
  return {
    labels: { ...labels, 'pod-template-hash': '6b7f' },
    ownerReferences: [{ ...set, controller: true }],
  }
}
