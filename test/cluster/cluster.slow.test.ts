/** The test cluster itself: pods, DNS and Services work, parts of it can be broken and repaired, and nothing of it is left behind. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'
import { until } from '../support/until.ts'
import { skipCluster } from './available.ts'
import { type Cluster, type OwnCluster, startCluster } from './cluster.ts'
import { clusterConfig } from './config.ts'
import { existingCluster } from './existing.ts'
import { writeImage } from './image.ts'
import { NODE_IN_IMAGE, NONROOT_USER, nodeLayer } from './node-image.ts'
import { endCluster, leftOvers } from './sweep.ts'

const config = clusterConfig()
const skip = config.context ? 'an existing cluster is named' : skipCluster(config)
const IMAGE = 'localhost/cluster-test:1'
const SERVICE = { namespace: 'default', name: 'greeter', port: 80 }
const START_LIMIT_MS = 280_000

const SERVER = `require('node:http').createServer((_, answer) => answer.end('greetings from ' + process.env.NODE)).listen(8080)`
// The greeter is ready before kube-proxy of each node knows its Service: until then a connection is refused.
const CLIENT = `const ask = () => fetch('http://greeter.default.svc.cluster.local').then(answer => answer.text()).then(console.log, () => setTimeout(ask, 200)); ask()`

let cluster: OwnCluster
const kubectl = (...args: string[]) => cluster.run(['kubectl', ...args])
const apply = (...objects: object[]) =>
  cluster.run(['kubectl', 'apply', '-f', '-'], {
    input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }),
  })

before(
  async () => {
    if (skip) return
    cluster = await startCluster({ nodes: 2, say: line => void process.stderr.write(`${line}\n`) })
  },
  { timeout: START_LIMIT_MS },
)
after(() => cluster?.stop())

test('both nodes are ready', { skip }, async () => {
  const statuses =
    '-o=jsonpath={range .items[*]}{.metadata.name}={.status.conditions[?(@.type=="Ready")].status} {end}'
  assert.equal(await kubectl('get', 'nodes', statuses), 'node1=True node2=True ')
})

test('a pod of our own image answers a pod on another node by its Service name', { skip }, async () => {
  await importTestImage()
  await apply(serverPod('node2'), service())
  await kubectl('wait', '--for=condition=Ready', 'pod/greeter', '--timeout=60s')
  await apply(clientPod('node1'))
  await kubectl('wait', '--for=jsonpath={.status.phase}=Succeeded', 'pod/client', '--timeout=60s')
  assert.equal(await kubectl('logs', 'client'), 'greetings from node2\n')
})

test('this process reaches a Service and the API server through loopback ports', { skip }, async () => {
  assert.equal(await greeting(), 'greetings from node2')
  const user = { KUBECONFIG: cluster.kubeconfig, PATH: cluster.inside([]).env.PATH }
  const outside = await existingCluster('portolan-test', user)
  assert.match(await outside.run(['kubectl', 'get', 'pod', 'greeter', '-o=name']), /pod\/greeter/)
  assert.equal(await greeting(outside), 'greetings from node2')
  await outside.stop()
})

test('commands inside the cluster resolve services, and reach nothing outside', { skip }, async () => {
  const ask = (url: string) => [
    process.execPath,
    '-e',
    `fetch('${url}').then(answer => answer.text(), error => error.cause.code).then(console.log)`,
  ]
  assert.match(await cluster.run(ask('http://greeter')), /greetings from node2/)
  assert.match(await cluster.run(ask('http://example.com')), /ENOTFOUND/)
  assert.match(await cluster.run(ask('http://192.0.2.1')), /ENETUNREACH/)
})

test('pods keep running while the API server is down, and are the same afterwards', {
  skip,
}, async () => {
  const identity = '-o=jsonpath={.metadata.uid} {.status.containerStatuses[0].restartCount}'
  const before = await kubectl('get', 'pod', 'greeter', identity)
  await cluster.kill('apiserver')
  assert.equal(cluster.running('apiserver'), false)
  await assert.rejects(kubectl('get', 'pods'), /refused/)
  assert.equal(await greeting(), 'greetings from node2')
  await cluster.restart('apiserver')
  assert.equal(await kubectl('get', 'pod', 'greeter', identity), before)
})

test('a restarted containerd finds its pods again', { skip }, async () => {
  await cluster.restart('node2/containerd')
  // The kubelet connects to it again a moment later.
  const run = () => kubectl('exec', 'greeter', '--', NODE_IN_IMAGE, '-p', '6 * 7')
  assert.equal(await until('a command runs in the pod', run, 60_000), '42\n')
})

test('a node is unreachable until its link is repaired', { skip }, async () => {
  const port = `require('node:net').connect({ host: '${cluster.node(2).address}', port: 10250, timeout: 1500 })`
  const script = `const end = text => { console.log(text); process.exit() }; ${port}.on('connect', () => end('open')).on('timeout', () => end('silent')).on('error', e => end(e.code))`
  const reach = () => cluster.run([process.execPath, '-e', script])
  assert.equal(await reach(), 'open\n')
  await cluster.node(2).linkDown()
  assert.match(await reach(), /silent|EHOSTUNREACH/)
  await cluster.node(2).linkUp()
  assert.equal(await reach(), 'open\n')
})

test('a stopped cluster leaves no process, mount, namespace, cgroup or file', { skip }, async () => {
  const namespaces = await Promise.all(
    ['net', 'mnt'].map(kind => cluster.node(2).run(['readlink', `/proc/self/ns/${kind}`])),
  )
  assert.ok(leftOvers(config.folder, cluster.name).length > 0)
  await cluster.stop()
  assert.deepEqual(leftOvers(config.folder, cluster.name), [])
  const alive = namespacesInUse()
  assert.deepEqual(
    namespaces.filter(namespace => alive.has(namespace.trim())),
    [],
  )
})

test('`down` ends what a killed `up` left behind', { skip }, async t => {
  const name = `killed-${process.pid}`
  const main = (...args: string[]) => [
    '--disable-warning=ExperimentalWarning',
    join(import.meta.dirname, 'main.ts'),
    ...args,
  ]
  const up = spawn(process.execPath, main('up', '--name', name), { stdio: ['ignore', 'ignore', 'pipe'] })
  t.after(async () => {
    up.kill('SIGKILL')
    await endCluster(config.folder, name)
  })
  for await (const line of createInterface({ input: up.stderr })) if (line.includes('API server ready')) break
  up.kill('SIGKILL')
  await once(up, 'exit')
  assert.ok(leftOvers(config.folder, name).length > 0)
  const down = spawn(process.execPath, main('down', '--name', name), { stdio: 'ignore' })
  assert.deepEqual(await once(down, 'exit'), [0, null])
  assert.deepEqual(leftOvers(config.folder, name), [])
})

async function importTestImage(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-cluster-test-'))
  try {
    const scripts = { '/app/server.js': { content: SERVER }, '/app/client.js': { content: CLIENT } }
    const layers = [await nodeLayer(), scripts]
    await writeImage(
      { reference: IMAGE, layers, entrypoint: [NODE_IN_IMAGE], user: NONROOT_USER },
      join(folder, 'image.tar'),
    )
    await cluster.importImage(join(folder, 'image.tar'))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function greeting(from: Cluster = cluster): Promise<string> {
  const { port, stop } = await from.forward(SERVICE)
  try {
    return await (await fetch(`http://127.0.0.1:${port}`)).text()
  } finally {
    stop()
  }
}

function serverPod(node: string): object {
  return pod('greeter', node, {
    args: ['/app/server.js'],
    env: [{ name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }],
    readinessProbe: { httpGet: { port: 8080 }, periodSeconds: 1 },
  })
}

function clientPod(node: string): object {
  return pod('client', node, { args: ['/app/client.js'] })
}

/** A pod that meets the strictest of Kubernetes' pod security standards, `restricted`. */
function pod(name: string, node: string, container: object): object {
  const securityContext = {
    runAsNonRoot: true,
    readOnlyRootFilesystem: true,
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
  }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: name } },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 0,
      nodeSelector: { 'kubernetes.io/hostname': node },
      containers: [{ name: 'main', image: IMAGE, imagePullPolicy: 'Never', securityContext, ...container }],
    },
  }
}

function service(): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: SERVICE.name },
    spec: { selector: { app: 'greeter' }, ports: [{ port: SERVICE.port, targetPort: 8080 }] },
  }
}

function namespacesInUse(): Set<string> {
  const found = readdirSync('/proc').flatMap(pid =>
    ['net', 'mnt'].flatMap(kind => {
      try {
        return /^\d+$/.test(pid) ? [readlinkSync(`/proc/${pid}/ns/${kind}`)] : []
      } catch {
        return [] // gone meanwhile
      }
    }),
  )
  return new Set(found)
}
