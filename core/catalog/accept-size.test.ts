/** Servers whose overrides are too large for the feed of the routers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseManifest } from '../../crds/parse.ts'
import { acceptServer, type Placement } from './accept.ts'
import { defaultGateway, resolve } from './resolve.ts'

/** A server with this many overrides of 8 KiB each. */
function serverWith(overrides: number) {
  const entries = Array.from({ length: overrides }, (_, at) => [`t${at}`, { description: 'é'.repeat(4_096) }])
  const { manifest } = parseManifest({
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpServer',
    metadata: { name: 'large' },
    spec: { remote: { url: 'http://large/mcp' }, tools: { overrides: Object.fromEntries(entries) } },
  })
  assert.ok(manifest?.kind === 'McpServer')
  return manifest
}

test('a server whose overrides have more than 256 KiB is refused in clusters, with what to do', () => {
  const found = (overrides: number, placement: Placement) =>
    acceptServer(serverWith(overrides), placement).map(({ path, reason, refuses }) => [path, reason, refuses])
  assert.deepEqual(found(31, 'cluster'), [])
  assert.deepEqual(found(32, 'cluster'), [['spec.tools.overrides', 'TooLarge', true]])
  assert.deepEqual(found(32, 'local'), [])
  assert.match(acceptServer(serverWith(32), 'cluster')[0]?.message ?? '', /256 KiB.*shorten/)
})

test('the config of the routers lacks the overrides of a server that is refused', () => {
  const gateway = defaultGateway()
  const of = (overrides: number) => {
    const servers = [serverWith(overrides)]
    const { config } = resolve({ gateway, servers, observed: new Map(), placement: 'cluster', now: 0 })
    return config.servers.map(({ status, tools }) => [status.reason, Object.keys(tools.overrides).length])
  }
  assert.deepEqual([of(2), of(172)], [[['Starting', 2]], [['TooLarge', 0]]])
})
