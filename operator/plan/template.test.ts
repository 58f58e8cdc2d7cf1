/** Which pods let the cluster autoscaler remove their node. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Deployment } from '@kubernetes/client-node'
import type { Kube } from '../../core/kube/object.ts'
import { planCase } from '../../test/support/plan-cases.ts'

const EVICTABLE = 'cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes'
const SERVER = 'kind: McpServer\nspec: { npm: { package: a }'
const GATEWAY = 'kind: McpGateway\nspec: {}'

function evictable(manifest: string): string | undefined {
  const { plans } = planCase('', `${manifest}\nmetadata: { name: a }\n---\nkind: World`)
  const deployment = plans[0]?.objects.find(({ kind }) => kind === 'Deployment') as Kube<V1Deployment>
  return deployment.spec?.template.metadata?.annotations?.[EVICTABLE]
}

test('an autoscaler may evict routers and servers with our own volumes, whose files can be made again', () => {
  assert.equal(evictable(GATEWAY), 'tmp')
  assert.equal(evictable(`${SERVER} }`), 'portolan,tmp,home,package')
  assert.equal(evictable(`${SERVER}, storage: { size: 1Gi } }`), 'portolan,tmp,home')
})

test('it may not evict pods with the files of clients or users', () => {
  assert.equal(evictable(`${SERVER}, sessions: perClient }`), undefined)
  const image =
    'kind: McpServer\nspec: { image: { name: "a:1", transport: http, port: 80 }, sessions: perUser }'
  assert.equal(evictable(image), undefined)
  // The pod that belongs to no user keeps nothing.
  assert.equal(evictable(`${SERVER}, sessions: perUser }`), 'portolan,tmp,home,package')
})

test("it asks about volumes of the manifest, and the manifest's annotation replaces ours", () => {
  const volumes =
    'volumes: [{ name: data, emptyDir: {} }, { name: home, persistentVolumeClaim: { claimName: b } }]'
  assert.equal(evictable(`${SERVER}, pod: { ${volumes} } }`), 'portolan,tmp,package')
  const annotations = `metadata: { annotations: { ${EVICTABLE}: data } }`
  assert.equal(evictable(`${SERVER}, pod: { ${annotations}, ${volumes} } }`), 'data')
  // As of a manifest that the API server refuses.
  assert.equal(evictable(`${SERVER}, pod: { volumes: [null] } }`), undefined)
})
