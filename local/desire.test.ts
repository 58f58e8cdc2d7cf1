/** The desired state of several manifests. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseManifestText } from '../core/manifests.ts'
import { desire } from './desire.ts'

test('a problem of a server has the place of the one in the namespace of the gateway', () => {
  const server = (namespace: string, spec: string) => `apiVersion: portolan.dev/v1alpha1
kind: McpServer
metadata: { name: files, namespace: ${namespace} }
spec: ${spec}
`
  const gateway = `apiVersion: portolan.dev/v1alpha1
kind: McpGateway
metadata: { name: tools, namespace: two }
spec: {}
`
  const text = {
    'one.yaml': server('one', '{ command: { run: node } }'),
    'two.yaml': server('two', '{ image: { name: files, transport: http, port: 80 } }'),
    'gateway.yaml': gateway,
  }
  const manifests = Object.entries(text).flatMap(([file, content]) =>
    parseManifestText(content, file).manifests.map(one => ({ ...one, folder: '.' })),
  )
  assert.equal(manifests.length, 3)
  const { problems } = desire(manifests, undefined, 0)
  assert.deepEqual(
    problems.map(({ reason, file }) => [reason, file]),
    [['ClusterOnly', 'two.yaml']],
  )
})
