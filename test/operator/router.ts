/** A router as the operator sees it, without the router: its pod, and what its admin port says. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { TestContext } from 'node:test'
import type { V1Deployment } from '@kubernetes/client-node'
import { delay, systemClock } from '../../core/async.ts'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import { ADMIN_PORT } from '../../operator/plan/names.ts'
import type { World } from './world.ts'

const POLL_MS = 20

/** What a router says at its admin port; `address` is one of the loopback. */
export async function startRouter(t: TestContext, address: string) {
  let status: object = { generation: 1, exposedTokens: 5 }
  const server = createServer((_request, response) => response.end(JSON.stringify(status)))
  server.listen(ADMIN_PORT, address)
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    says: (said: object) => {
      status = said
    },
  }
}

/** What a cluster would do: a pod that is ready, and a Deployment that knows of it. */
export async function runRouter(world: World, gateway: string, podIP: string): Promise<void> {
  const name = `${gateway}-gateway`
  const find = () => world.get<Kube<V1Deployment>>('apps/v1', 'Deployment', name)
  let deployment = await find()
  // It is made once its ServiceAccount is there.
  for (; !deployment; deployment = await find()) await delay(systemClock, POLL_MS)
  const { metadata, spec } = deployment.spec?.template ?? {}
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name: `${gateway}-router` }, spec }
  const made = await world.apply(pod as KubeObject)
  const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }
  const status = { phase: 'Running', podIP, podIPs: [{ ip: podIP }], conditions: [ready] }
  await world.client.applyStatus({ ...made, status }, { fieldManager: 'test', force: true })
  await world.roll(name, 1)
}
