/** The images and the package registry, in pods of a real cluster with the strictest security context. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { RUNTIME } from '../../operator/plan/delivery.ts'
import { skipCluster } from '../cluster/available.ts'
import { type OwnCluster, startCluster } from '../cluster/cluster.ts'
import { clusterConfig } from '../cluster/config.ts'
import { until } from '../support/until.ts'
import { buildImages } from './build.ts'
import { type Registry, startRegistry } from './registry.ts'

const config = clusterConfig()
const skip = config.context ? 'this test needs its own cluster' : skipCluster(config)
const START_LIMIT_MS = 280_000
const say = (line: string) => void process.stderr.write(`${line}\n`)

const PORTOLAN = 'portolan/portolan:test'
const SECURITY = {
  runAsNonRoot: true,
  runAsUser: 65532,
  runAsGroup: 65532,
  readOnlyRootFilesystem: true,
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
}
const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
})

let cluster: OwnCluster
let registry: Registry

before(
  async () => {
    if (skip) return
    const archives = buildImages()
    cluster = await startCluster({ name: `portolan-images-${process.pid}`, say })
    for (const archive of Object.values(await archives)) await cluster.importImage(archive)
    registry = await startRegistry(cluster, say)
  },
  { timeout: START_LIMIT_MS },
)
after(async () => {
  await registry?.stop()
  await cluster?.stop()
})

test('the Portolan image runs its commands', { skip }, async () => {
  const version = await inPod('version', { image: PORTOLAN, args: ['--version'] })
  assert.match(version, /^\d+\.\d+\.\d+\n$/)
  const crds = await inPod('crds', {
    image: PORTOLAN,
    env: [{ name: 'PORTOLAN_COMMAND', value: 'crds' }],
  })
  assert.match(crds, /name: mcpservers\.portolan\.dev/)
})

test('an npm package is installed from the registry, and starts', { skip }, async () => {
  const install = `npm install --prefix "$HOME/it" --omit=dev --no-audit --no-fund --registry ${registry.npm} @modelcontextprotocol/server-memory@2026.8.31`
  const started = `echo '${INITIALIZE}' | "$HOME/it/node_modules/.bin/mcp-server-memory"`
  const log = await inPod('npm', {
    image: 'portolan-test/node:24',
    command: ['sh', '-c', `${install} && ${started}`],
  })
  assert.match(log, /"serverInfo":/)
})

test('a PyPI package is installed from the index, and starts', { skip }, async () => {
  const host = new URL(registry.pypi).hostname
  const install = `python3 -m venv "$HOME/venv" && "$HOME/venv/bin/pip" install --quiet --index-url ${registry.pypi} --trusted-host ${host} mcp-server-time==2026.10.19`
  const started = `echo '${INITIALIZE}' | "$HOME/venv/bin/mcp-server-time" --local-timezone UTC`
  const log = await inPod('pypi', {
    image: 'portolan-test/python:3',
    command: ['sh', '-c', `${install} && ${started}`],
  })
  assert.match(log, /"serverInfo":/)
})

test('the copied runtime runs the bridge in an image without libc and shell, and a client in a pod can call it', {
  skip,
}, async () => {
  const volumes = [{ name: 'portolan', emptyDir: {} }]
  const deliver = {
    name: 'deliver',
    image: PORTOLAN,
    imagePullPolicy: 'Never',
    securityContext: SECURITY,
    command: RUNTIME,
    args: ['deliver', '/delivered'],
    volumeMounts: [{ name: 'portolan', mountPath: '/delivered' }],
  }
  const main = {
    image: 'portolan-test/scratch:1',
    command: RUNTIME,
    args: ['--name', 'scratch', '--', '/server'],
    volumeMounts: [{ name: 'portolan', mountPath: '/portolan', readOnly: true }],
    readinessProbe: { httpGet: { path: '/readyz', port: 8080 }, periodSeconds: 1 },
  }
  await apply(podOf('scratch', main, { volumes, initContainers: [deliver] }))
  await apply(serviceOf('scratch'))
  await kubectl('wait', '--for=condition=Ready', 'pod/scratch', '--timeout=60s')
  const calls = [
    { method: 'tools/list' },
    { method: 'tools/call', params: { name: 'folder', arguments: { name: '/' } } },
  ]
  const client = {
    image: 'portolan-test/client:1',
    args: ['ask', 'http://scratch/mcp', JSON.stringify(calls)],
  }
  const { server, answers } = JSON.parse(await inPod('ask', client))
  assert.equal(server.name, 'scratch')
  assert.equal(answers[0].result.tools.length, 3)
  assert.doesNotMatch(answers[1].result.content[0].text, /lib|bin/)
})

test('a steady load counts every answer', { skip }, async () => {
  const args = [
    'load',
    'http://scratch/mcp',
    '--seconds=2',
    '--rate=50',
    '--tool=echo',
    '--args={"text":"n$N"}',
  ]
  const client = { image: 'portolan-test/client:1', args: [...args, '--expect=n$N'] }
  const report = JSON.parse(await inPod('load', client))
  assert.ok(report.sent >= 90, JSON.stringify(report))
  assert.deepEqual([report.right, report.wrong, report.failed], [report.sent, 0, 0], JSON.stringify(report))
})

/** Runs a pod; returns the log of its main container, which must succeed. */
async function inPod(name: string, container: object, more: object = {}): Promise<string> {
  await apply(podOf(name, container, more))
  const phase = await untilPhase(name, ['Succeeded', 'Failed'])
  const log = await kubectl('logs', name, '--container=main')
  assert.equal(phase, 'Succeeded', log)
  return log
}

function untilPhase(pod: string, phases: string[]): Promise<string> {
  return until(`${pod} is ${phases.join(' or ')}`, async () => {
    const phase = await kubectl('get', 'pod', pod, '-o=jsonpath={.status.phase}')
    if (phases.includes(phase)) return phase
    throw new Error(await kubectl('describe', 'pod', pod))
  })
}

function kubectl(...args: string[]): Promise<string> {
  return cluster.run(['kubectl', ...args])
}

async function apply(object: object): Promise<void> {
  await cluster.run(['kubectl', 'apply', '-f', '-'], { input: JSON.stringify(object) })
}

function podOf(name: string, container: object, more: object = {}): object {
  const volumes = [
    { name: 'home', emptyDir: {} },
    { name: 'tmp', emptyDir: {} },
  ]
  const volumeMounts = [
    { name: 'home', mountPath: '/home/mcp' },
    { name: 'tmp', mountPath: '/tmp' },
  ]
  const { env = [], ...rest } = container as { env?: object[] }
  const main = {
    name: 'main',
    imagePullPolicy: 'Never',
    securityContext: SECURITY,
    volumeMounts,
    env: [{ name: 'HOME', value: '/home/mcp' }, ...env],
    ...rest,
  }
  const spec = { restartPolicy: 'Never', terminationGracePeriodSeconds: 0, volumes }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: name } },
    spec: { ...spec, containers: [main], ...more },
  }
}

function serviceOf(name: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { selector: { app: name }, ports: [{ port: 80, targetPort: 8080 }] },
  }
}
