/** The Secrets of logins at a server, which the operator writes for routers, while it also keeps the other objects of the server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Role } from '@kubernetes/client-node'
import { loginsName } from '../../core/catalog/login-records.ts'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import { createLog } from '../../core/log.ts'
import type { McpGatewaySpec } from '../../crds/gateway.ts'
import { createLoginKeeper } from '../../operator/runtime/keep-logins.ts'
import { createOperatorMetrics } from '../../operator/runtime/operator-metrics.ts'
import { apiServerOfTests, skipApiServer } from '../support/api-server.ts'
import { until } from '../support/until.ts'
import { startHoldingProxy } from './holding-proxy.ts'
import { createWorld, reasonOf, type World } from './world.ts'

const skip = skipApiServer()
const NAMESPACE = 'logins'
const ID = 'a'.repeat(64)
const SECRET = loginsName('notes', ID)
const GATEWAY = {
  url: 'https://mcp.example.com',
  auth: { jwt: [{ name: 'login', issuer: 'https://login.example.com', audiences: ['a'] }] },
}

const api = apiServerOfTests(skip)

test('a login that is written while the objects of its server are being written stays', { skip }, async t => {
  const proxy = await startHoldingProxy(t, api().access)
  const world = await createWorld(t, proxy.access, NAMESPACE)
  await world.gateway('tools', GATEWAY as Partial<McpGatewaySpec>)
  const patch = proxy.hold(`PATCH /apis/apps/v1/namespaces/${NAMESPACE}/deployments/mcp-notes?`)
  const image = { name: 'notes:1', transport: 'http' as const, port: 8080 }
  const auth = { perUser: { oauth: { scopes: [], clientId: 'portolan' } } }
  const server = await world.server('notes', { image, sessions: 'perUser', auth })
  await patch.arrived
  const metrics = createOperatorMetrics()
  const keep = createLoginKeeper({ client: api().client, log: createLog({ level: 'silent' }), metrics })
  await keep(server as KubeObject, SECRET, new Map([[ID, '1.sealed']]), new AbortController().signal)
  // From then on the operator knows the Secret.
  await untilReadable(world, SECRET)
  const { uid } = (await world.get('v1', 'Secret', SECRET))?.metadata ?? {}
  patch.release()
  await world.until('notes', found => reasonOf(found, 'Accepted') === 'Accepted')
  await world.quiet()
  assert.equal((await world.get('v1', 'Secret', SECRET))?.metadata.uid, uid)
})

/** Until the gateway's routers may read the Secret. */
async function untilReadable(world: World, secret: string): Promise<void> {
  const api = 'rbac.authorization.k8s.io/v1'
  await until(`the routers may read ${secret}`, async () => {
    const role = await world.get<Kube<V1Role>>(api, 'Role', 'tools-gateway')
    return role?.rules?.some(({ resourceNames }) => resourceNames?.includes(secret))
  })
}
