/** The chart before a real API server: every object is accepted, the operator may do its work and nothing else. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { KubeObject } from '../../core/kube/object.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import { parseManifest } from '../../crds/parse.ts'
import { role, roleBinding } from '../../operator/plan/rbac.ts'
import { type ApiServer, skipApiServer, startApiServer } from '../support/api-server.ts'
import { CASES, GENERATED } from './cases.ts'
import { CHART, type Helm, helmAlone, objectsOf, type Values } from './helm.ts'

const skip = skipApiServer()
/** Kinds of the Prometheus operator, which this API server does not know. */
const FOREIGN = 'monitoring.coreos.com/v1'
const RESTRICTED = { 'pod-security.kubernetes.io/enforce': 'restricted' }
const OPERATOR = 'system:serviceaccount:portolan:portolan'

/** `verb resource[.group][/subresource][:name]` */
const OWN_KINDS = [
  'configmaps',
  'secrets',
  'services',
  'serviceaccounts',
  'deployments.apps',
  'horizontalpodautoscalers.autoscaling',
  'networkpolicies.networking.k8s.io',
  'poddisruptionbudgets.policy',
  'roles.rbac.authorization.k8s.io',
  'rolebindings.rbac.authorization.k8s.io',
]
const every = (verbs: string[], resources: string[]) =>
  resources.flatMap(resource => verbs.map(verb => `${verb} ${resource}`))
const MAY = [
  ...every(['get', 'list', 'watch'], ['mcpservers.portolan.dev', 'mcpgateways.portolan.dev', 'pods']),
  ...every(['get', 'list', 'watch', 'create', 'patch', 'delete'], OWN_KINDS),
  'patch mcpservers.portolan.dev/status',
  'patch mcpgateways.portolan.dev/status',
  'update mcpservers.portolan.dev/finalizers',
  'create events.events.k8s.io',
]
const MAY_NOT = [
  ...every(
    ['create', 'update', 'patch', 'delete'],
    ['mcpservers.portolan.dev', 'mcpgateways.portolan.dev', 'pods'],
  ),
  ...every(['create'], ['pods/exec', 'pods/portforward', 'serviceaccounts/token', 'jobs.batch']),
  ...every(['escalate', 'bind', 'deletecollection'], ['roles.rbac.authorization.k8s.io']),
  ...every(['impersonate'], ['users', 'serviceaccounts']),
  'get pods/log',
  'get nodes',
  'list namespaces',
  'get leases.coordination.k8s.io:portolan-operator',
  'get customresourcedefinitions.apiextensions.k8s.io',
]
const LEASE = [
  'get leases.coordination.k8s.io:portolan-operator',
  'update leases.coordination.k8s.io:portolan-operator',
  'create leases.coordination.k8s.io',
]

let server: ApiServer
let helm: Helm

before(async () => {
  if (skip) return
  server = await startApiServer()
  helm = helmAlone(server.kubeconfig)
  for (const name of ['portolan', 'team-a', 'team-b', 'elsewhere']) await server.namespace(name, RESTRICTED)
})
after(async () => {
  helm?.end()
  await server?.stop()
})

for (const [name, values] of Object.entries({ defaults: {}, ...CASES, generated: GENERATED })) {
  test(`the API server accepts every object: ${name}`, { skip }, async () => {
    const objects = objectsOf(await helm.render(values)).filter(({ apiVersion }) => apiVersion !== FOREIGN)
    const answer = await applied(objects, '--dry-run=server')
    assert.equal(answer.trim().split('\n').length, objects.length)
    assert.doesNotMatch(answer, /Warning/)
  })
}

test('the pods of the operator and of the upgrade are restricted ones', { skip }, async () => {
  const made = objectsOf(await helm.render()).filter(({ kind }) => ['Deployment', 'Job'].includes(kind))
  const pods = (made as unknown as Workload[]).map(({ kind, spec: { template } }) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...template.metadata, name: kind.toLowerCase(), namespace: 'portolan' },
    spec: template.spec,
  }))
  assert.equal(pods.length, 2)
  await applied(pods, '--dry-run=server')
})

test('the operator of a whole cluster may do its work everywhere, and no more', { skip }, async () => {
  await applied(await accessOf({}))
  assert.deepEqual(await allowed('elsewhere', MAY), MAY)
  assert.deepEqual(await allowed('elsewhere', MAY_NOT), [])
  assert.deepEqual(await allowed('portolan', LEASE), LEASE)
  await asOperator('elsewhere')
  await removed(await accessOf({}))
})

test('the operator of some namespaces has no right in any other', { skip }, async () => {
  const access = await accessOf({ watchNamespaces: ['team-a', 'team-b'] })
  await applied(access)
  for (const namespace of ['team-a', 'team-b']) {
    assert.deepEqual(await allowed(namespace, MAY), MAY)
    assert.deepEqual(await allowed(namespace, MAY_NOT), [])
    await asOperator(namespace)
  }
  assert.deepEqual(await allowed('portolan', LEASE), LEASE)
  for (const namespace of ['elsewhere', 'portolan']) assert.deepEqual(await allowed(namespace, MAY), [])
  await assert.rejects(asOperator('elsewhere'), /forbidden/)
  await removed(access)
})

test('the Job before an upgrade may write the two CRDs and nothing else', { skip }, async () => {
  const access = objectsOf(await helm.render()).filter(
    ({ metadata, kind }) => /-crds$/.test(metadata.name) && kind !== 'Job',
  )
  await applied(access)
  const user = 'system:serviceaccount:portolan:portolan-crds'
  const crds = 'customresourcedefinitions.apiextensions.k8s.io'
  const own = [
    `get ${crds}:mcpservers.portolan.dev`,
    `patch ${crds}:mcpgateways.portolan.dev`,
    `create ${crds}`,
  ]
  const others = [`patch ${crds}:certificates.cert-manager.io`, `delete ${crds}:mcpservers.portolan.dev`]
  others.push(`list ${crds}`, 'get secrets', 'create pods', 'list mcpservers.portolan.dev')
  assert.deepEqual(await allowed('portolan', [...own, ...others], user), own)
  await removed(access)
})

test('for a whole cluster it is not installed a second time, for some namespaces it is', {
  skip,
}, async () => {
  const install = (release: string, namespace: string) =>
    ['install', release, CHART, `--namespace=${namespace}`, '--dry-run=server'] as const
  const lease = objectsOf(await helm.run(['template', 'first', CHART, '--namespace=elsewhere'])).filter(
    ({ kind, metadata }) => kind === 'Role' && metadata.namespace === 'elsewhere',
  )
  await applied(lease)
  await assert.rejects(helm.run(install('second', 'portolan')), {
    message:
      /already installed as release first in the namespace elsewhere, .* give each its own watchNamespaces/,
  })
  await helm.run(install('second', 'portolan'), { watchNamespaces: ['team-a'] })
  await removed(lease)
  await helm.run(install('second', 'portolan'))
})

test('two releases share nothing but the CRDs', { skip }, async () => {
  const names = async (release: string) => {
    const text = await helm.run(['template', release, CHART, `--namespace=${release}`])
    return objectsOf(text).map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''} ${metadata.name}`)
  }
  const [one, other] = [await names('one'), await names('other')]
  assert.deepEqual(
    one.filter(name => other.includes(name)),
    [],
  )
})

type Workload = { kind: string; spec: { template: { metadata: object; spec: object } } }

function applied(objects: object[], ...flags: string[]): Promise<string> {
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects })
  return server.kubectl(['apply', '--server-side', ...flags, '-f', '-'], list)
}

function removed(objects: object[]): Promise<string> {
  return server.kubectl(
    ['delete', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }),
  )
}

/** The operator's ServiceAccount with all its rights. */
async function accessOf(values: Values): Promise<KubeObject[]> {
  const kinds = /^(ServiceAccount|(Cluster)?Role(Binding)?)$/
  return objectsOf(await helm.render(values)).filter(
    ({ kind, metadata }) => kinds.test(kind) && !metadata.name.endsWith('-crds'),
  )
}

/** Those that the user may do. */
async function allowed(namespace: string, actions: string[], user = OPERATOR): Promise<string[]> {
  const reviews = actions.map(action => {
    const [, verb, resource, group = '', subresource = '', name = ''] =
      /^(\w+) (\w+)(?:\.([\w.-]+))?(?:\/(\w+))?(?::(.+))?$/.exec(action) ?? []
    const resourceAttributes = { namespace, verb, resource, group, subresource, name }
    return {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user, resourceAttributes },
    }
  })
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: reviews })
  const answer = await server.kubectl(['create', '-f', '-', '-o=jsonpath={.status.allowed} '], list)
  const verdicts = answer.trim().split(' ')
  assert.equal(verdicts.length, actions.length)
  return actions.filter((_, at) => verdicts[at] === 'true')
}

/** Gives a gateway's routers their rights, as the operator does: the API server refuses rights that the giver has not. */
async function asOperator(namespace: string): Promise<void> {
  const gateway = gatewayIn(namespace)
  const objects = [role(gateway, ['everything-catalog-0'], ['mcp-everything']), roleBinding(gateway)]
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects })
  await server.kubectl(['apply', '--server-side', `--as=${OPERATOR}`, '-f', '-'], list)
}

function gatewayIn(namespace: string): McpGateway {
  const { manifest } = parseManifest({
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpGateway',
    metadata: { name: 'tools', namespace },
  })
  assert.equal(manifest?.kind, 'McpGateway')
  return manifest as McpGateway
}
