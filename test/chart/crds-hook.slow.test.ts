/** The hook that upgrades the CRDs at an installation, on a real API server; the test stands in for the controller of Jobs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skipApiServer, startApiServer } from '../support/api-server.ts'
import { until } from '../support/until.ts'
import { CHART, helmAlone } from './helm.ts'

const NAMESPACE = '--namespace=portolan'

test('an installation over CRDs that are there applies its own before it creates the operator', {
  skip: skipApiServer(),
  timeout: 120_000,
}, async t => {
  const server = await startApiServer()
  t.after(() => server.stop())
  const helm = helmAlone(server.kubeconfig)
  t.after(() => helm.end())
  const namesOf = async (kinds: string): Promise<string[]> =>
    (await server.kubectl(['get', kinds, NAMESPACE, '-l=app.kubernetes.io/name=portolan', '-o=name'])).match(
      /\S+/g,
    ) ?? []
  const installed = helm.run(['install', 'portolan', CHART, NAMESPACE, '--create-namespace'])
  await until('the Job is there', async () => (await namesOf('jobs')).length > 0, 30_000)
  const kinds = 'serviceaccounts,clusterroles,clusterrolebindings,deployments'
  const before = await namesOf(kinds)
  assert.deepEqual(before.sort(), [
    'clusterrole.rbac.authorization.k8s.io/portolan-crds',
    'clusterrolebinding.rbac.authorization.k8s.io/portolan-crds',
    'serviceaccount/portolan-crds',
  ])
  await complete(server.kubectl)
  await installed
  assert.deepEqual(await namesOf('jobs'), [])
  const after = await namesOf(kinds)
  assert.ok(after.includes('deployment.apps/portolan'))
  assert.ok(!after.some(name => before.includes(name)))
})

/** Reports the Job as complete. */
async function complete(kubectl: (args: string[]) => Promise<string>): Promise<void> {
  const at = new Date().toISOString().replace(/\.\d+/, '')
  const conditions = ['SuccessCriteriaMet', 'Complete'].map(type => {
    return { type, status: 'True', lastProbeTime: at, lastTransitionTime: at }
  })
  const status = { startTime: at, completionTime: at, succeeded: 1, conditions }
  const patch = `--patch=${JSON.stringify({ status })}`
  await kubectl(['patch', 'job/portolan-crds', NAMESPACE, '--subresource=status', '--type=merge', patch])
}
