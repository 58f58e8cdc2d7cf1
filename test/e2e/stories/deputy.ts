/** Somebody who may only write our kinds gains nothing else: no Secret, no privileged pod, no internal address, no rights of the operator. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject } from '../../../core/kube/object.ts'
import type { McpServerSpecInput } from '../../../crds/server.ts'
import { until } from '../../support/until.ts'
import { FIXTURES, fixture, gateway, secret, server } from '../support/manifests.ts'
import type { Namespace } from '../support/namespace.ts'
import { type Portolan, SYSTEM } from '../support/portolan.ts'
import { scriptPod, service } from '../support/program.ts'
import type { Stories } from '../support/story.ts'

const WRITER = 'writer-of-manifests'
const PORT = 3_000
/** A host that the writer controls: it logs the path and all headers of each request. */
const CATCH = `require('http').createServer((request, response) => {
  console.log(JSON.stringify([request.url, request.headers]))
  response.end('{}')
}).listen(${PORT})`
const REDIRECT = (to: string) => `require('http').createServer((request, response) => {
  console.log('asked')
  response.writeHead(307, { location: '${to}' }).end()
}).listen(${PORT})`
const KEY = { secretKeyRef: { name: 'login', key: 'token' } }

export const deputyStories: Stories = (running, options) => {
  test(
    'somebody who may write only our kinds gets no Secret, pod or ServiceAccount through them',
    options,
    async t => {
      const portolan = running()
      const space = await portolan.namespace('deputy', t)
      await admitWriter(portolan, space.name)
      await admitWriter(portolan, SYSTEM)
      t.after(() =>
        portolan.kubectl('--namespace', SYSTEM, 'delete', `rolebinding/${WRITER}`, `role/${WRITER}`),
      )
      await space.apply(
        secret('login', { token: 'geheim' }),
        scriptPod('catch', CATCH),
        service('catch', PORT),
      )
      await portolan.kubectl(
        '--namespace',
        space.name,
        'wait',
        '--for=condition=Ready',
        '--timeout=100s',
        'pod/catch',
      )
      const url = `http://catch.${space.name}.svc:${PORT}/mcp`
      const headers = [{ name: 'Authorization', valueFrom: KEY }]
      const client = { clientId: 'a', clientSecretRef: KEY.secretKeyRef }
      const embeddings = { url, model: 'm', secretRef: KEY.secretKeyRef }
      const routes: [KubeObject, RegExp][] = [
        [server('header', { remote: { url }, headers }), /secrets\/login, which \S+ may not read/],
        [
          server('login', { remote: { url }, auth: { oauth: { ...client, tokenUrl: url } } }),
          /secrets\/login/,
        ],
        [gateway('queries', { search: { embeddings } }), /secrets\/login|may not create pods/],
        [
          server('stderr', { ...fixture(), envFrom: [{ secretRef: { name: 'login' } }] }),
          /may not create pods/,
        ],
        [server('pod', fixture()), /may not create pods/],
        [
          server('account', { ...fixture(), pod: { serviceAccountName: 'portolan' } }),
          /may not (create|imp)/,
        ],
        [inSystem(server('inside', { remote: { url } })), /is the operator's own/],
        [inSystem(gateway('inside')), /is the operator's own/],
      ]
      for (const [manifest, refusal] of routes)
        await assert.rejects(applyAs(WRITER, portolan, space, manifest), refusal)
      assert.deepEqual(await caught(portolan, space), [])
      // The same manifest is accepted from somebody who may read the Secret: without the refusal it would have worked.
      await space.apply(server('header', { remote: { url }, headers }))
      const seen = await until('a request came', async () => (await caught(portolan, space)).at(0))
      assert.match(seen, /geheim/)
      // Nor does the status show the Secret to those who may only read manifests.
      const print = 'console.error(process.env.token); process.exit(1)'
      const printer = { image: { name: FIXTURES, command: ['node', '--eval', print] } }
      await space.apply(server('stderr', { ...printer, envFrom: [{ secretRef: { name: 'login' } }] }))
      await space.untilSaid('stderr', 'Ready', 'CrashLooping')
      assert.doesNotMatch(JSON.stringify((await space.server('stderr'))?.status), /geheim/)
    },
  )

  test('no pod gets access to its node, whatever rights the writer of its manifest has', options, async t => {
    const space = await running().namespace('powerful', t)
    const mounts = [{ name: 'root', mountPath: '/host' }]
    const pods: McpServerSpecInput['pod'][] = [
      { hostNetwork: true },
      {
        volumes: [{ name: 'root', hostPath: { path: '/' } }],
        containers: [{ name: 'server', volumeMounts: mounts }],
      },
      { containers: [{ name: 'server', securityContext: { privileged: true } }] },
    ]
    await space.apply(...pods.map((pod, at) => server(`pod-${at}`, { ...fixture(), pod })))
    for (const at of pods.keys()) {
      await space.untilSaid(`pod-${at}`, 'Accepted', 'NotPermitted')
      assert.deepEqual(await space.pods(`pod-${at}`), [])
    }
  })

  test('no request goes to internal addresses, whatever name or redirect leads there', options, async t => {
    const portolan = running()
    const space = await portolan.namespace('addresses', t)
    await admitWriter(portolan, space.name)
    const targets: Record<string, string> = {
      metadata: 'http://169.254.169.254/latest/meta-data/',
      mapped: 'http://[::ffff:169.254.169.254]/mcp',
      loopback: 'http://localhost:8080/mcp',
      api: `https://${portolan.cluster.addresses.apiService}/mcp`,
      // These two resolve to the API server.
      named: 'https://kubernetes.default.svc/mcp',
      alias: `https://alias.${space.name}.svc/mcp`,
    }
    const alias = { type: 'ExternalName', externalName: 'kubernetes.default.svc.cluster.local' }
    await space.apply({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'alias' },
      spec: alias,
    } as KubeObject)
    for (const [name, url] of Object.entries(targets))
      await applyAs(WRITER, portolan, space, server(name, { remote: { url } }))
    for (const name of Object.keys(targets)) {
      const { message } = await space.untilSaid(name, 'ToolsDiscovered', 'NotPermitted')
      assert.match(message, /has an address that is not allowed in this cluster/)
      assert.doesNotMatch(message, /\d+\.\d+\.\d+\.\d+/)
    }
    await space.apply(
      scriptPod('catch', CATCH),
      service('catch', PORT),
      scriptPod('elsewhere', REDIRECT(`http://catch.${space.name}.svc:${PORT}/mcp`)),
      service('elsewhere', PORT),
      server('elsewhere', { remote: { url: `http://elsewhere.${space.name}.svc:${PORT}/mcp` } }),
    )
    await until(
      'the redirecting server got a request',
      async () => (await caught(portolan, space, 'elsewhere')).length > 0,
    )
    await until('the status says so', async () => {
      const { conditions = [] } = (await space.server('elsewhere'))?.status ?? {}
      return conditions.some(({ message }) => /redirects elsewhere/.test(message))
    })
    assert.deepEqual(await caught(portolan, space), [])
  })
}

/** Gives the writer every right on our kinds in a namespace, and none besides. */
async function admitWriter({ kubectl }: Portolan, namespace: string): Promise<void> {
  const own = ['--namespace', namespace]
  const ours = '--resource=mcpservers.portolan.dev,mcpgateways.portolan.dev,mcpscripts.portolan.dev'
  await kubectl('create', 'role', WRITER, ...own, '--verb=*', ours)
  await kubectl('create', 'rolebinding', WRITER, ...own, `--role=${WRITER}`, `--user=${WRITER}`)
}

async function applyAs(
  user: string,
  { cluster }: Portolan,
  { name }: Namespace,
  manifest: KubeObject,
): Promise<void> {
  const namespace = manifest.metadata.namespace ?? name
  const command = ['kubectl', 'apply', `--as=${user}`, '--namespace', namespace, '--filename', '-']
  await cluster.run(command, { input: JSON.stringify(manifest) })
}

function inSystem(manifest: KubeObject): KubeObject {
  return { ...manifest, metadata: { ...manifest.metadata, namespace: SYSTEM } }
}

/** The requests that a pod has been sent, each as a line. */
async function caught({ kubectl }: Portolan, { name }: Namespace, pod = 'catch'): Promise<string[]> {
  return (await kubectl('--namespace', name, 'logs', pod)).split('\n').filter(line => line !== '')
}
