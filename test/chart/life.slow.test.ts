/** The chart on a real cluster: installation, sidecars, upgrade from older CRDs, rollback, removal, and a second installation over older CRDs. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { V1Pod } from '@kubernetes/client-node'
import { parse } from 'yaml'
import { skipCluster } from '../cluster/available.ts'
import { type Cluster, startCluster } from '../cluster/cluster.ts'
import { clusterConfig } from '../cluster/config.ts'
import { buildImages } from '../images/build.ts'
import { CHART, type Helm, helmAlone } from './helm.ts'

const config = clusterConfig()
const skip = config.context
  ? 'this test starts its own cluster, but an existing one is given'
  : skipCluster(config)
const START_LIMIT_MS = 280_000
const OUTPUT_LIMIT_MS = 20_000
const POLL_MS = 200
const EXAMPLES = join(dirname(dirname(import.meta.dirname)), 'examples', 'cluster', 'sidecar')
/** The operator's namespace, and the one that it serves. */
const NAMESPACE = 'portolan'
const SERVED = 'mcp'
const BY_OPERATOR = `--namespace=${NAMESPACE}`
const OPERATORS = '-l=app.kubernetes.io/component=operator'
const IMAGE = 'portolan/portolan:test'
const RELEASE = ['portolan', CHART, BY_OPERATOR, '--wait', '--timeout=120s']

/** A minimal MCP server: the chart is tested here, not what servers do. */
const GREETER = `
const tools = [{ name: 'greet', description: 'Greets', inputSchema: { type: 'object' } }]
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'greeter', version: '1' } }),
  'tools/list': () => ({ tools }),
}
require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const answer = answers[method]?.(params)
  const body = answer ? { result: answer } : { error: { code: -32601, message: 'unknown' } }
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...body }))
})`

const values = (logLevel: string) => ({
  image: { tag: 'test', pullPolicy: 'Never' },
  operator: { logLevel },
  gateway: {
    enabled: true,
    namespace: SERVED,
    spec: { router: { replicas: 1 } },
    servers: { greeter: { image: { name: IMAGE, command: ['/portolan/node', '-e', GREETER] } } },
  },
})

let cluster: Cluster
let helm: Helm
const kubectl = (...args: string[]) => cluster.run(['kubectl', `--namespace=${SERVED}`, ...args])
const apply = (object: object) =>
  cluster.run(['kubectl', 'apply', '-f', '-'], { input: JSON.stringify(object) })

before(
  async () => {
    if (skip) return
    cluster = await startCluster()
    const { portolan } = await buildImages(undefined, ['portolan'])
    await cluster.importImage(portolan)
    helm = helmAlone(cluster.kubeconfig)
  },
  { timeout: START_LIMIT_MS },
)
after(async () => {
  helm?.end()
  await cluster?.stop()
})

test('after an installation, the command that NOTES give succeeds, and the gateway has the tools', {
  skip,
}, async () => {
  await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: SERVED } })
  const notes = await helm.run(['install', ...RELEASE, '--create-namespace'], values('info'))
  await apply({
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpServer',
    metadata: { name: 'mine', namespace: 'default' },
    spec: { remote: { url: 'http://mine.example.com/mcp' } },
  })
  const [waitCommand] = /^ *kubectl .* wait .*$/m.exec(notes) ?? []
  await cluster.run((waitCommand ?? '').trim().split(' '))
  await kubectl('wait', '--for=jsonpath={.status.tools}=1', 'mcpgateway/tools', '--timeout=30s')
  const pods = await field('pods', '.items[*].metadata.name', OPERATORS, BY_OPERATOR)
  const leader = (await field('lease/portolan-operator', '.spec.holderIdentity', BY_OPERATOR)).split('_')[0]
  assert.equal(pods.split(' ').length, 2)
  assert.ok(pods.split(' ').includes(leader ?? ''))
})

for (const name of ['by-label', 'by-hand']) {
  test(`an agent reaches the router in its own pod: ${name}`, { skip }, async t => {
    const pod = agent(name)
    const path = `pod/${pod.metadata?.name}`
    await apply(pod)
    t.after(() => kubectl('delete', path, '--grace-period=1'))
    await kubectl('wait', '--for=condition=Ready', path, '--timeout=90s')
    assert.match(await firstOutputOf(path), /^200 .*"serverInfo"/)
    const inside = async (container: string, script: string) =>
      kubectl('exec', path, `-c=${container}`, '--', '/portolan/node', '-p', script)
    const shown = `fs.existsSync('/var/run/portolan/token/token')`
    assert.deepEqual(
      [await inside('agent', shown), await inside('portolan-router', shown)],
      ['false\n', 'true\n'],
    )
    const audiences = `JSON.parse(atob(fs.readFileSync('/var/run/secrets/kubernetes.io/serviceaccount/token', 'utf8').split('.')[1])).aud.join()`
    assert.equal(await inside('portolan-router', audiences), 'portolan\n')
  })
}

test('an upgrade updates the CRDs and does not restart the routers', { skip }, async () => {
  await makeOlder()
  const routers = () => field('pods', '.items[*].metadata.uid', '-l=app.kubernetes.io/component=router')
  const before = await routers()
  await helm.run(['upgrade', ...RELEASE], values('debug'))
  assert.equal(await shortNames(), '["mcps"]')
  assert.equal(await logLevel(), 'debug')
  assert.equal(await routers(), before)
  await kubectl('wait', '--for=condition=Ready', 'mcps/greeter', 'mcpgateway/tools', '--timeout=60s')
  const created = (...flags: string[]) => kubectl('get', 'jobs,serviceaccounts', '-o=name', ...flags)
  assert.equal(await created(BY_OPERATOR), named('default', 'portolan'))
  assert.equal(await created(), named('default', 'tools-gateway'))
})

test('a rollback restores the operator and keeps the new CRDs', { skip }, async () => {
  await helm.run(['rollback', 'portolan', '1', BY_OPERATOR, '--wait', '--timeout=120s'])
  assert.equal(await logLevel(), 'info')
  assert.equal(await shortNames(), '["mcps"]')
  await kubectl('wait', '--for=condition=Ready', 'mcpgateway/tools', '--timeout=60s')
})

test('uninstalling leaves only the CRDs and what people created', { skip }, async () => {
  await helm.run(['uninstall', 'portolan', BY_OPERATOR, '--wait', '--timeout=120s'])
  const inNamespace =
    'all,configmaps,secrets,roles,rolebindings,leases,networkpolicies,poddisruptionbudgets,endpointslices'
  for (const place of [BY_OPERATOR, `--namespace=${SERVED}`]) {
    const left = await kubectl('get', `${inNamespace},mcpservers,mcpgateways`, '-o=name', place)
    for (const path of left.split('\n')) {
      if (path && !path.endsWith('/kube-root-ca.crt'))
        await kubectl('wait', '--for=delete', path, '--timeout=90s', place)
    }
    assert.equal(await kubectl('get', 'serviceaccounts', '-o=name', place), named('default'))
  }
  const ofCluster =
    'clusterroles,clusterrolebindings,mutatingadmissionpolicies,mutatingadmissionpolicybindings,validatingadmissionpolicies,validatingadmissionpolicybindings'
  const left = await kubectl('get', ofCluster, '-l=app.kubernetes.io/name=portolan', '-o=name')
  assert.equal(left, '')
  const mine = await kubectl('get', 'mcpservers', '--all-namespaces', '-o=name')
  assert.equal(mine, 'mcpserver.portolan.dev/mine\n')
})

test('an installation updates the CRDs that an older release left; for one namespace, it serves only that one', {
  skip,
}, async () => {
  await makeOlder()
  await apply({
    apiVersion: 'portolan.dev/v1alpha1',
    kind: 'McpGateway',
    metadata: { name: 'elsewhere', namespace: 'default' },
  })
  await helm.run(['install', ...RELEASE], { ...values('info'), watchNamespaces: [SERVED] })
  assert.equal(await shortNames(), '["mcps"]')
  await kubectl('wait', '--for=condition=Ready', 'mcpservers,mcpgateways', '--all', '--timeout=60s')
  await apply(agent('by-label'))
  await kubectl('wait', '--for=condition=Ready', 'pod/agent', '--timeout=90s')
  assert.equal(await field('mcpgateway/elsewhere', '.status', '--namespace=default'), '')
  const everywhere = 'clusterroles,clusterrolebindings'
  const roles = await kubectl('get', everywhere, '-l=app.kubernetes.io/name=portolan', '-o=name')
  const added = ['admin', 'edit', 'view'].map(
    role => `clusterrole.rbac.authorization.k8s.io/portolan-${role}\n`,
  )
  assert.equal(
    roles,
    added.join(''),
    'only the roles for people, which extend the roles of Kubernetes, apply to all namespaces',
  )
})

/** Makes a CRD as in an older version, in which it lacks a field. */
async function makeOlder(): Promise<void> {
  const removal = JSON.stringify([{ op: 'remove', path: '/spec/names/shortNames' }])
  await kubectl('patch', 'crd/mcpservers.portolan.dev', '--type=json', `--patch=${removal}`)
  assert.equal(await shortNames(), '')
}

function shortNames(): Promise<string> {
  return field('crd/mcpservers.portolan.dev', '.spec.names.shortNames')
}

/** The pod of the example, with the image that was built for the test. */
function agent(name: string): V1Pod {
  const text = readFileSync(join(EXAMPLES, `${name}.yaml`), 'utf8')
  const images = text.replaceAll(/image: .*/g, `image: ${IMAGE}`).replaceAll('[node,', '[/portolan/node,')
  return parse(images) as V1Pod
}

/** The first output of the agent. */
async function firstOutputOf(path: string): Promise<string> {
  const limit = performance.now() + OUTPUT_LIMIT_MS
  for (;;) {
    const text = await kubectl('logs', path, '-c=agent')
    if (text !== '' || performance.now() > limit) return text
    await wait(POLL_MS)
  }
}

function field(path: string, jsonPath: string, ...options: string[]): Promise<string> {
  return kubectl('get', path, `-o=jsonpath={${jsonPath}}`, ...options)
}

function logLevel(): Promise<string> {
  return field(
    'deployment/portolan',
    `.spec.template.spec.containers[0].env[?(@.name=="PORTOLAN_LOG_LEVEL")].value`,
    BY_OPERATOR,
  )
}

function named(...serviceAccounts: string[]): string {
  return serviceAccounts.map(name => `serviceaccount/${name}\n`).join('')
}
