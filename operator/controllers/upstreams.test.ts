/** Which values of Secrets an open connection uses. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../core/async.ts'
import { endpointOf } from '../../core/catalog/endpoint.ts'
import type { KubeObject } from '../../core/kube/object.ts'
import { type ConnectorOptions, createConnector } from '../../core/mcp/client/connector.ts'
import { mcpServerSchema } from '../../crds/server.ts'
import { Upstreams } from './upstreams.ts'

test('an open connection uses the values of its Secrets as they are now, and none of a deleted one', async t => {
  const server = mcpServerSchema.parse({
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpServer',
    metadata: { name: 'web', namespace: 'team' },
    spec: {
      remote: { url: 'https://example.com/mcp' },
      headers: [{ name: 'X', valueFrom: { secretKeyRef: { name: 'login', key: 'k' } } }],
    },
  })
  const endpoint = endpointOf(server, 'cluster')
  assert.ok(endpoint.kind === 'http')
  let data: Record<string, string> | undefined = { k: 'b25l' }
  let secret: ConnectorOptions['secret'] = () => undefined
  const made = new Upstreams({
    client: { get: async <T extends KubeObject>() => data && ({ data } as unknown as T) },
    clock: systemClock,
    connector: options => {
      secret = options.secret
      return createConnector(options)
    },
    onListChanged: () => {},
  })
  t.after(() => made.closeAll())
  const open = () => made.open('team/web', { server, endpoint }, t.signal)
  const upstream = await open()
  assert.deepEqual(secret('login'), { k: 'one' })
  data = { k: 'dHdv' }
  assert.equal(await open(), upstream)
  assert.deepEqual(secret('login'), { k: 'two' })
  data = undefined
  assert.equal(await open(), upstream)
  assert.equal(secret('login'), undefined)
})
