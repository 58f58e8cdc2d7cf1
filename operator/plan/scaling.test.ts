/** Which servers only a waiting call or a changed manifest can wake or scale. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { API_VERSION } from '../../crds/object-meta.ts'
import { type McpServerInput, mcpServerSchema } from '../../crds/server.ts'
import { isAtRest } from './scaling.ts'

const image = { name: 'web:1', command: ['/web'] }
const SLEEPY = { image, scaling: { min: 0 } }

function rests(spec: McpServerInput['spec'], status: McpServerInput['status']): boolean {
  const metadata = { name: 'web', namespace: 'mcp', generation: 2 }
  return isAtRest(
    mcpServerSchema.parse({ apiVersion: API_VERSION, kind: 'McpServer', metadata, spec, status }),
  )
}

test('a server that may sleep is at rest while it sleeps, if its status is of the newest manifest', () => {
  const asleep = { observedGeneration: 2, replicas: { wanted: 0, ready: 0 }, conditions: [] }
  assert.equal(rests(SLEEPY, asleep), true)
  assert.equal(rests(SLEEPY, { ...asleep, replicas: { wanted: 1, ready: 0 } }), false)
  assert.equal(rests(SLEEPY, { ...asleep, observedGeneration: 1 }), false)
  assert.equal(rests(SLEEPY, undefined), false)
})

test('a server with a pod for each user is at rest while no user has one', () => {
  const spec = { image, sessions: 'perUser' as const }
  const unused = { observedGeneration: 2, replicas: { wanted: 1 }, users: { wanted: 0 }, conditions: [] }
  assert.equal(rests(spec, unused), true)
  assert.equal(rests(spec, { ...unused, users: { wanted: 1 } }), false)
})

test('a server with a fixed number of instances is at rest; one that runs more than its minimum is not', () => {
  const running = { observedGeneration: 2, replicas: { wanted: 2, ready: 2 }, conditions: [] }
  assert.equal(rests({ image }, running), true)
  assert.equal(rests({ image, scaling: { min: 1, max: 4 } }, running), false)
})
