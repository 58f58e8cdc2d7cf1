/** A company's cluster: it assigns the users of pods, as OpenShift does, and remote servers, one with a private certificate, are behind an HTTP proxy. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { skipCluster } from '../cluster/available.ts'
import { startCluster } from '../cluster/cluster.ts'
import { clusterConfig } from '../cluster/config.ts'
import { makeAuthority } from '../support/authority.ts'
import { ASSIGNED_USER, assignUsers } from './support/assigned-user.ts'
import { FIXTURES, fixture, gateway, secret, server } from './support/manifests.ts'
import type { Namespace } from './support/namespace.ts'
import { installPortolan, type Portolan, SYSTEM } from './support/portolan.ts'
import { programPod, scriptPod, service } from './support/program.ts'

const START_LIMIT_MS = 290_000
const SPACE = 'proxied'
const LOGIN = secret('proxy-login', { username: 'ann', password: 'geheim' })
const PORT = 3128
/** The proxy connects its tunnels to this Service; no name server knows the host names in the manifests. */
const ORIGIN = { host: `origin.${SPACE}.svc`, port: 3_000 }
const TLS_PORT = 3_443
const [HOST, TLS_HOST] = ['mcp.example.test', 'private.example.test']
const authority = makeAuthority(TLS_HOST)
const skip = clusterConfig().context ? 'an existing cluster is named: it lacks the images' : skipCluster()

const PROXY = `
const { connect } = require('net')
const expected = 'Basic ' + Buffer.from('ann:geheim').toString('base64')
require('http').createServer().on('connect', (request, socket, head) => {
  const admitted = request.headers['proxy-authorization'] === expected
  console.log(JSON.stringify({ to: request.url, from: socket.remoteAddress, admitted }))
  socket.on('error', () => {})
  if (!admitted) return socket.end('HTTP/1.1 407 Proxy Authentication Required\\r\\n\\r\\n')
  const [port, host] = request.url.endsWith(':443') ? [${TLS_PORT}, 'private.${SPACE}.svc'] : [${ORIGIN.port}, '${ORIGIN.host}']
  const upstream = connect(port, host, () => {
    socket.write('HTTP/1.1 200 OK\\r\\n\\r\\n')
    upstream.write(head)
    socket.pipe(upstream).pipe(socket)
  })
  upstream.on('error', () => socket.destroy())
}).listen(${PORT})`
/** Terminates TLS in front of the same server. */
const TLS_FRONT = `
require('tls').createServer(${JSON.stringify({ key: authority.key, cert: authority.certificate })}, socket => {
  const upstream = require('net').connect(${ORIGIN.port}, '${ORIGIN.host}')
  for (const end of [socket, upstream]) end.on('error', () => end.destroy())
  socket.pipe(upstream).pipe(socket)
}).listen(${TLS_PORT})`

let portolan: Portolan

before(
  async () => {
    if (skip) return
    const cluster = await startCluster({ nodes: 1 })
    try {
      await assignUsers(cluster)
      await cluster.run(['kubectl', 'create', 'namespace', SYSTEM])
      const input = JSON.stringify(LOGIN)
      await cluster.run(['kubectl', '--namespace', SYSTEM, 'apply', '--filename', '-'], { input })
      const address = `http://proxy.${SPACE}.svc:${PORT}`
      const proxy = { http: address, https: address, secretName: LOGIN.metadata.name }
      const values = { user: null, proxy, trustedCertificates: authority.certificate }
      portolan = await installPortolan(cluster, { values })
    } catch (error) {
      await cluster.stop()
      throw error
    }
  },
  { timeout: START_LIMIT_MS },
)
after(() => portolan?.stop())

test('remote servers are read and called through the proxy, and nothing shows its credentials', {
  skip,
  timeout: 400_000,
}, async () => {
  const space = await portolan.namespace(SPACE)
  const proxy = scriptPod('proxy', PROXY)
  const origin = programPod(
    'origin',
    ['/usr/local/bin/node', '/fixtures/main.js', 'sdk1', 'stateful'],
    FIXTURES,
  )
  await space.apply(LOGIN, proxy, service('proxy', PORT), origin, service('origin', ORIGIN.port))
  await space.apply(scriptPod('private', TLS_FRONT), service('private', TLS_PORT))
  await space.apply(
    server('remote', { remote: { url: `http://${HOST}/mcp` } }),
    server('private', { remote: { url: `https://${TLS_HOST}/mcp` } }),
    server('metadata', { remote: { url: 'http://169.254.169.254/mcp' } }),
    gateway('tools'),
  )
  await space.untilReady('remote', 'private')
  await space.untilServing('tools', { ready: 2 })
  const agent = await space.agent('tools')
  for (const name of ['remote', 'private'])
    assert.match(await agent.call(`${name}:echo`, { text: 'through it' }), /through it/)
  const asked = await asksOf(space)
  const seen = new Set(asked.map(({ to, admitted }) => `${to} ${admitted}`))
  assert.deepEqual([...seen].sort(), [`${HOST}:80 true`, `${TLS_HOST}:443 true`])
  const routers = (await space.pods('tools')).map(({ status }) => status?.podIP)
  const operators = await portolan.system.pods('portolan')
  const sources = new Set(asked.map(({ from }) => from.replace('::ffff:', '')))
  assert.ok([...sources].some(from => routers.includes(from)))
  assert.ok(operators.some(({ status }) => sources.has(status?.podIP ?? '')))
  assert.doesNotMatch(await everythingSaid(space), /geheim|YW5uOmdlaGVpbQ/)
})

test('all pods run as the user that the cluster assigns, also those that install and run packages', {
  skip,
  timeout: 300_000,
}, async t => {
  const space = await portolan.namespace('assigned', t)
  await space.apply(
    LOGIN,
    server('npm', { npm: { package: '@modelcontextprotocol/server-everything', args: ['stdio'] } }),
    server('pypi', { pypi: { package: 'mcp-server-time', version: '2026.10.19' } }),
    server('image', { ...fixture(), tls: true, sessions: 'perClient' }),
    gateway('tools'),
  )
  await space.untilReady('npm', 'pypi', 'image')
  await space.untilServing('tools', { ready: 3 })
  const agent = await space.agent('tools')
  assert.match(await agent.call('npm:echo', { message: 'as nobody in particular' }), /as nobody/)
  assert.match(await agent.call('pypi:get_current_time', { timezone: 'UTC' }), /UTC/)
  assert.equal(await agent.call('image:echo', { text: 'by TLS' }), 'by TLS')
  const pods = [portolan.system.pods('portolan'), ...['npm', 'pypi', 'image', 'tools'].map(space.pods)]
  for (const { spec } of (await Promise.all(pods)).flat())
    assert.equal(spec?.securityContext?.runAsUser, ASSIGNED_USER)
})

type Asked = { to: string; from: string; admitted: boolean }

async function asksOf({ name }: Namespace): Promise<Asked[]> {
  const lines = await portolan.kubectl('--namespace', name, 'logs', 'proxy')
  return lines
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Asked)
}

/** All that people without the right to read Secrets may see of Portolan: manifests, status, ConfigMaps, logs. */
async function everythingSaid(space: Namespace): Promise<string> {
  const kinds = 'deployments,configmaps,mcpservers,mcpgateways,events'
  const own = ['--selector', 'app.kubernetes.io/name=portolan']
  const texts = [space.name, SYSTEM].flatMap(namespace =>
    [
      ['get', kinds, '--output', 'yaml'],
      ['get', 'pods', ...own, '--output', 'yaml'],
      ['logs', ...own, '--tail=-1'],
    ].map(args => portolan.kubectl('--namespace', namespace, ...args)),
  )
  return (await Promise.all(texts)).join('\n')
}
