/** Secrets, certificates and accounts that are replaced under a steady load, without a lost call. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Secret } from '@kubernetes/client-node'
import type { Kube } from '../../../core/kube/object.ts'
import type { McpServerSpecInput } from '../../../crds/server.ts'
import { until } from '../../support/until.ts'
import { underLoad } from '../support/load.ts'
import { fixture, gateway, server } from '../support/manifests.ts'
import type { Namespace } from '../support/namespace.ts'
import type { Portolan } from '../support/portolan.ts'
import type { Stories } from '../support/story.ts'

const LOAD = { gateway: 'tools', toolPath: 'kit:echo' }
/** The kubelet brings a changed Secret into pods within a minute or two. */
const KUBELET_LIMIT_MS = 180_000
const ROUTERS = 'app.kubernetes.io/component=router'
/** Prints the certificate that a bridge shows to its callers, as PEM. */
const SHOW_CERTIFICATE = `const { X509Certificate } = require('crypto')
const socket = require('tls').connect({ port: 8080, rejectUnauthorized: false }, () => {
  process.stdout.write(new X509Certificate(socket.getPeerCertificate().raw).toString())
  socket.end()
})`
const READ_BEARER = 'process.stdout.write(require("fs").readFileSync("/var/run/portolan/bearer/token"))'

export const rotationStories: Stories = (running, options) => {
  test('the bearer token of a server is replaced, and no call is lost', options, async t => {
    const portolan = running()
    const space = await serving(portolan, 'bearers', t)
    const outcome = await underLoad(portolan, space, LOAD, {
      strike: () => portolan.kubectl('delete', 'secret/mcp-kit', '--namespace', space.name),
      recovered: () =>
        until(
          'the bridge has the new token',
          () => bridgeHas(portolan, space, 'mcp-kit', 'token', READ_BEARER),
          KUBELET_LIMIT_MS,
        ),
    })
    assert.deepEqual([outcome.lost, outcome.right], [[], outcome.calls])
  })

  test('the certificate of a bridge is replaced, and no call is lost', options, async t => {
    const portolan = running()
    const space = await serving(portolan, 'certificates', t, { tls: true })
    const outcome = await underLoad(portolan, space, LOAD, {
      strike: () => portolan.kubectl('delete', 'secret/mcp-kit.tls', '--namespace', space.name),
      recovered: async () => {
        const isNew = () => bridgeHas(portolan, space, 'mcp-kit.tls', 'tls.crt', SHOW_CERTIFICATE)
        await until('the bridge serves the new certificate', isNew, KUBELET_LIMIT_MS)
      },
    })
    assert.deepEqual([outcome.lost, outcome.right], [[], outcome.calls])
    // New routers have no connection from before.
    await portolan.kubectl('delete', 'pods', '--namespace', space.name, '--selector', ROUTERS)
    await space.untilServing('tools', { ready: 1, routers: 2 })
    const agent = await space.agent('tools')
    assert.equal(await agent.call('kit:echo', { text: 'after it' }), 'after it')
    assert.match((await space.server('kit'))?.status?.endpoint ?? '', /^https:/)
  })

  test('the ServiceAccount of the routers is replaced, and no call is lost', options, async t => {
    const portolan = running()
    const space = await serving(portolan, 'accounts', t)
    const names = async () => (await space.pods('tools')).map(({ metadata }) => metadata.name)
    const before = await names()
    const outcome = await underLoad(portolan, space, LOAD, {
      strike: () => portolan.kubectl('delete', 'serviceaccount/tools-gateway', '--namespace', space.name),
      recovered: async () => {
        await until('no old router is left', async () =>
          (await names()).every(name => !before.includes(name)),
        )
        await space.untilServing('tools', { ready: 1, routers: 2 })
      },
    })
    assert.deepEqual([outcome.lost, outcome.right], [[], outcome.calls])
  })
}

async function serving(
  portolan: Portolan,
  name: string,
  t: { after(end: () => Promise<unknown>): void },
  spec: Partial<McpServerSpecInput> = {},
): Promise<Namespace> {
  const space = await portolan.namespace(name, t)
  await space.apply(server('kit', { ...fixture(), ...spec }), gateway('tools', { router: { replicas: 2 } }))
  await space.untilServing('tools', { ready: 1, routers: 2 })
  return space
}

/** Whether `script`, in the bridge's container, prints what a key of a Secret holds. */
async function bridgeHas(
  { client, kubectl }: Portolan,
  space: Namespace,
  name: string,
  key: string,
  script: string,
): Promise<boolean> {
  const ref = { apiVersion: 'v1', kind: 'Secret', namespace: space.name, name }
  const secret = await client.get<Kube<V1Secret>>(ref)
  const [pod] = await space.pods('kit')
  const exec = ['exec', pod?.metadata.name ?? '', '--container', 'server', '--', 'node', '--eval', script]
  const printed = await kubectl('--namespace', space.name, ...exec)
  return printed === Buffer.from(secret?.data?.[key] ?? '', 'base64').toString()
}
