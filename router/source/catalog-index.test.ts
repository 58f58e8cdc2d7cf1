/** Which servers a sidecar calls itself, and which through its gateway. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RouterServer } from '../../core/catalog/router-config.ts'
import { serverOf, snapshotOf } from '../../test/meta/fixture.ts'
import { catalogIndexOf } from './catalog-index.ts'

const at = (name: string, url: string): RouterServer =>
  serverOf(name, {
    transport: 'http',
    endpoint: { kind: 'http', transport: 'streamable-http', url, revision: '1' },
  })
const SERVERS = [
  at('far', 'https://far.example.com/mcp'),
  at('near', 'https://near.example.org/mcp'),
  at('ours', 'http://mcp-ours.default.svc/mcp'),
]
const snapshot = snapshotOf({}, { servers: SERVERS }, 1)
const kinds = (...more: [((url: URL) => boolean)?]) =>
  catalogIndexOf(snapshot, ...more).config.servers.map(({ endpoint }) => endpoint.kind)

test('a sidecar calls a remote server without a Secret itself, and a server of the operator through the gateway', () => {
  assert.deepEqual(kinds(), ['http', 'http', 'gateway'])
})

test('a remote server for which only the gateway has a proxy or certificates is called through the gateway', () => {
  assert.deepEqual(
    kinds(({ hostname }) => hostname === 'far.example.com'),
    ['gateway', 'http', 'gateway'],
  )
})
