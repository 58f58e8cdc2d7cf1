/** The chart on a real API server: every object is accepted, the operator may do its work and nothing else. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { KubeObject } from '../../core/kube/object.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import { parseManifest } from '../../crds/parse.ts'
import { role, roleBinding } from '../../operator/plan/rbac.ts'
import { type ApiServer, skipApiServer, startApiServer } from '../support/api-server.ts'
import { allowed as allowedTo, every } from './allowed.ts'
import { CASES, GENERATED } from './cases.ts'
import { CHART, type Helm, helmAlone, objectsOf, type Values } from './helm.ts'
import { inForce } from './in-force.ts'

const skip = skipApiServer()
/** Kinds of the Prometheus operator, which this API server does not know. */
const FOREIGN = 'monitoring.coreos.com/v1'
const RESTRICTED = { 'pod-security.kubernetes.io/enforce': 'restricted' }
const OPERATOR = 'system:serviceaccount:portolan:portolan'

const MANAGED_KINDS = [
  'configmaps',
  'secrets',
  'services',
  'persistentvolumeclaims',
  'serviceaccounts',
  'deployments.apps',
  'horizontalpodautoscalers.autoscaling',
  'networkpolicies.networking.k8s.io',
  'poddisruptionbudgets.policy',
  'roles.rbac.authorization.k8s.io',
  'rolebindings.rbac.authorization.k8s.io',
]
const PORTOLAN_KINDS = ['mcpservers.portolan.dev', 'mcpgateways.portolan.dev', 'mcpscripts.portolan.dev']
const MAY = [
  ...every(['get', 'list', 'watch'], [...PORTOLAN_KINDS, 'pods']),
  ...every(['get', 'list', 'watch', 'create', 'patch', 'delete'], MANAGED_KINDS),
  'patch pods',
  'patch mcpservers.portolan.dev/status',
  'patch mcpgateways.portolan.dev/status',
  'patch mcpscripts.portolan.dev/status',
  'update mcpservers.portolan.dev/finalizers',
  'create events.events.k8s.io',
]
const MAY_NOT = [
  ...every(['create', 'update', 'patch', 'delete'], PORTOLAN_KINDS),
  ...every(['create', 'update', 'delete'], ['pods']),
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
  for (const name of ['portolan', 'team-a', 'team-b', 'elsewhere', 'mcp'])
    await server.namespace(name, RESTRICTED)
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

test('the pods of the operator and of the hook meet the restricted Pod Security Standard', {
  skip,
}, async () => {
  const workloads = objectsOf(await helm.render()).filter(({ kind }) => ['Deployment', 'Job'].includes(kind))
  const pods = (workloads as unknown as Workload[]).map(({ kind, spec: { template } }) => ({
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
  await grantAsOperator('elsewhere')
  await removed(await accessOf({}))
})

test('the operator of some namespaces has no right in any other', { skip }, async () => {
  const access = await accessOf({ watchNamespaces: ['team-a', 'team-b'] })
  await applied(access)
  for (const namespace of ['team-a', 'team-b']) {
    assert.deepEqual(await allowed(namespace, MAY), MAY)
    assert.deepEqual(await allowed(namespace, MAY_NOT), [])
    await grantAsOperator(namespace)
  }
  assert.deepEqual(await allowed('portolan', LEASE), LEASE)
  for (const namespace of ['elsewhere', 'portolan']) assert.deepEqual(await allowed(namespace, MAY), [])
  await assert.rejects(grantAsOperator('elsewhere'), /forbidden/)
  await removed(access)
})

test('with tokenReview the operator may bind ServiceAccounts to the right to review tokens, and to no other right', {
  skip,
}, async () => {
  const access = await accessOf({ tokenReview: { enabled: true }, watchNamespaces: ['team-a'] })
  await applied(access)
  const name = 'portolan-token-review'
  const [roles, bindings] = ['clusterroles', 'clusterrolebindings'].map(
    kind => `${kind}.rbac.authorization.k8s.io`,
  )
  const may = [`bind ${roles}:${name}`, `get ${bindings}:${name}`, `patch ${bindings}:${name}`]
  const mayNot = [
    ...every(['bind'], [`${roles}:cluster-admin`, `${roles}:${name}-binding`, `${roles}`]),
    ...every(['get', 'patch'], [`${bindings}`, `${bindings}:cluster-admin`, `${bindings}:${name}-binding`]),
    ...every(['create', 'delete', 'update', 'list'], [`${bindings}`, `${bindings}:${name}`]),
    ...every(['get', 'patch', 'escalate'], [`${roles}:${name}`]),
    'create tokenreviews.authentication.k8s.io',
  ]
  assert.deepEqual(await allowed('', [...may, ...mayNot]), may)
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
  }
  const subjects = [{ kind: 'ServiceAccount', name: 'tools-gateway', namespace: 'team-a' }]
  const review = ['create tokenreviews.authentication.k8s.io']
  const router = 'system:serviceaccount:team-a:tools-gateway'
  assert.deepEqual(await allowed('', review, router), [])
  // As the operator does, with a field manager that owns only the subjects; the chart owns the other fields.
  const flags = ['--server-side', '--force-conflicts', '--field-manager=portolan-token-review']
  const give = (object: object) =>
    server.kubectl(['apply', ...flags, `--as=${OPERATOR}`, '-f', '-'], JSON.stringify(object))
  await give({ ...binding, subjects })
  await inForce(async () => assert.deepEqual(await allowed('', review, router), review))
  const admin = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' }
  await assert.rejects(give({ ...binding, subjects, roleRef: admin }), /cannot change roleRef|forbidden/)
  await removed(access)
})

test('an upgrade keeps the ServiceAccounts that the operator has bound to the right to review tokens', {
  skip,
}, async () => {
  const release = ['portolan', CHART, '--namespace=portolan', '--skip-crds', '--no-hooks']
  const values = (logLevel: string) => ({ tokenReview: { enabled: true }, operator: { logLevel } })
  await helm.run(['install', ...release], values('info'))
  const name = 'portolan-token-review'
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
  }
  const subjects = [{ kind: 'ServiceAccount', name: 'tools-gateway', namespace: 'team-a' }]
  const flags = ['--server-side', '--field-manager=portolan-token-review']
  await server.kubectl(['apply', ...flags, '-f', '-'], JSON.stringify({ ...binding, subjects }))
  await helm.run(['upgrade', ...release], values('debug'))
  const shown = await server.kubectl(['get', 'clusterrolebinding', name, '-o=jsonpath={.subjects}'])
  assert.deepEqual(JSON.parse(shown), subjects)
  await helm.run(['uninstall', 'portolan', '--namespace=portolan', '--no-hooks'])
  assert.equal(await server.kubectl(['get', 'clusterrolebinding', name, '--ignore-not-found']), '')
})

test('the Job before an installation or upgrade may write the three CRDs and nothing else', {
  skip,
}, async () => {
  const access = objectsOf(await helm.render()).filter(
    ({ metadata, kind }) => /-crds$/.test(metadata.name) && kind !== 'Job',
  )
  await applied(access)
  const user = 'system:serviceaccount:portolan:portolan-crds'
  const crds = 'customresourcedefinitions.apiextensions.k8s.io'
  const own = [
    `get ${crds}:mcpservers.portolan.dev`,
    `patch ${crds}:mcpgateways.portolan.dev`,
    `patch ${crds}:mcpscripts.portolan.dev`,
    `create ${crds}`,
  ]
  const others = [`patch ${crds}:certificates.cert-manager.io`, `delete ${crds}:mcpservers.portolan.dev`]
  others.push(`list ${crds}`, 'get secrets', 'create pods', 'list mcpservers.portolan.dev')
  assert.deepEqual(await allowed('portolan', [...own, ...others], user), own)
  await removed(access)
})

test('a second release for the whole cluster is refused, and one for some namespaces is accepted', {
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
    ({ kind, metadata }) => kinds.test(kind) && !/-(crds|view|edit|admin)$/.test(metadata.name),
  )
}

/** Those of the actions that the user may do. */
function allowed(namespace: string, actions: string[], user = OPERATOR): Promise<string[]> {
  return allowedTo(server, namespace, actions, { user })
}

/** Gives a gateway's routers their rights, as the operator does: the API server refuses rights that the operator does not have itself. */
async function grantAsOperator(namespace: string): Promise<void> {
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
