/** Which routers may review tokens, against a real API server: those of the gateways that ask for it, as long as they do. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1ClusterRoleBinding } from '@kubernetes/client-node'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import { apiServerOfTests, skipApiServer } from '../support/api-server.ts'
import { until } from '../support/until.ts'
import { createWorld, reasonOf } from './world.ts'

const skip = skipApiServer()
const NAME = 'routers-that-review'
const RBAC = 'rbac.authorization.k8s.io'
const BINDING = { apiVersion: `${RBAC}/v1`, kind: 'ClusterRoleBinding', metadata: { name: NAME } }
const roleRef = { apiGroup: RBAC, kind: 'ClusterRole', name: 'view' }
const router = { replicas: 1, debug: false }
const REVIEWED = { router, auth: { serviceAccounts: { review: '60s' } } } as object

const api = apiServerOfTests(skip)

test('the binding has only the routers of gateways with review, even if others change it', {
  skip,
}, async t => {
  const helm = { fieldManager: 'helm', force: true }
  await api().client.apply({ ...BINDING, roleRef } as KubeObject, helm)
  const stranger = { kind: 'ServiceAccount', name: 'stranger', namespace: 'elsewhere' }
  await api().client.apply({ ...BINDING, roleRef, subjects: [stranger] } as KubeObject, helm)
  const world = await createWorld(t, api().access, 'reviewing', { settings: { tokenReviewBinding: NAME } })
  const untilSubjects = (wanted: string) =>
    until(`the subjects are "${wanted}"`, async () => {
      const found = await api().client.get<Kube<V1ClusterRoleBinding>>({ ...BINDING, name: NAME })
      assert.equal(found?.roleRef.name, 'view')
      const subjects = (found?.subjects ?? []).map(({ namespace, name }) => `${namespace}/${name}`)
      return subjects.join() === wanted
    })
  await untilSubjects('')
  await world.gateway('open', { router })
  await world.gateway('b', REVIEWED)
  await world.gateway('a', REVIEWED)
  await untilSubjects('reviewing/a-gateway,reviewing/b-gateway')
  const b = await world.untilGateway('b', gateway => reasonOf(gateway, 'Accepted') === 'Accepted')
  assert.equal(b.spec.auth?.serviceAccounts?.review, '60s')
  // As an upgrade of the chart does, whose binding has no subjects.
  await api().client.apply({ ...BINDING, roleRef } as KubeObject, helm)
  await world.gateway('a', { router })
  await untilSubjects('reviewing/b-gateway')
  await world.delete('McpGateway', 'b')
  await untilSubjects('')
})
