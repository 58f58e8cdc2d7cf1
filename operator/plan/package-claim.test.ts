/** The claim of a server's package is made once and never changed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type KubeObject, refOf } from '../../core/kube/object.ts'
import { API_VERSION } from '../../crds/object-meta.ts'
import { parseManifest } from '../../crds/parse.ts'
import { NOW, SETTINGS } from '../../test/support/plan-cases.ts'
import { planServer } from './plan-server.ts'

test('a claim that exists is not written again: an admin may have expanded it, and no claim can shrink', () => {
  const { manifest: server } = parseManifest({
    apiVersion: API_VERSION,
    kind: 'McpServer',
    metadata: { name: 'files', namespace: 'team' },
    spec: { npm: { package: 'a', version: '1.0.0' }, storage: { size: '1Gi' } },
  })
  assert.ok(server?.kind === 'McpServer')
  const world = { references: [], pods: [], otherContent: [], taken: [], settings: SETTINGS, now: NOW }
  const isClaim = ({ kind }: KubeObject) => kind === 'PersistentVolumeClaim'
  const [claim] = planServer({ ...world, server, claims: [] })
    .objects.filter(isClaim)
    .map(refOf)
  assert.ok(claim)
  const other = { ...claim, name: 'mcp-files.package-other' }
  const { objects, untouched } = planServer({ ...world, server, claims: [claim, other] })
  assert.deepEqual(objects.filter(isClaim), [])
  assert.ok(untouched?.some(({ name }) => name === claim.name))
})
