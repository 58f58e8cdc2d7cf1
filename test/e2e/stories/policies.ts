/** NetworkPolicies, enforced: what pods of servers, routers and the operator may reach, and who may reach them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enforcePolicies } from '../../cluster/policies/enforce.ts'
import { NPM_PORT } from '../../images/registry-server.ts'
import { MCP_HEADERS, requestBody } from '../../support/mcp.ts'
import { until } from '../../support/until.ts'
import { tokenOf } from '../../users/as-user.ts'
import { type Caller, callerOf } from '../support/caller.ts'
import { fixture, gateway, secret, server } from '../support/manifests.ts'
import type { Namespace } from '../support/namespace.ts'
import { type Portolan, SYSTEM } from '../support/portolan.ts'
import type { Stories } from '../support/story.ts'
import { idOf, tokenIn, userOf } from '../support/users.ts'

const SILENT_MS = 2_500
const ROUTER = { 'app.kubernetes.io/name': 'portolan', 'app.kubernetes.io/component': 'router' }
const npm = { package: '@modelcontextprotocol/server-everything', version: '2026.8.31', args: ['stdio'] }

export const policyStories: Stories = (running, options) => {
  test(
    'with policies enforced, servers reach only the DNS and, while they install, their registry',
    options,
    async t => {
      const portolan = running()
      const enforcement = await enforcePolicies(portolan.cluster)
      t.after(() => enforcement.stop())
      const space = await portolan.namespace('fenced', t)
      await space.apply(server('kit', { npm }), gateway('tools'))
      await space.untilServing('tools', { ready: 1 })
      const agent = await space.agent('tools')
      assert.match(await agent.call('kit:echo', { message: 'through the fence' }), /through the fence/)

      const inside = fromServer(portolan, space)
      const { control, apiService } = portolan.cluster.addresses
      await until('the registry is closed', async () => (await inside(dial(control, NPM_PORT))) === 'closed')
      assert.equal(await agent.script(dial(control, NPM_PORT)), 'open')
      assert.equal(await inside(RESOLVE), 'open')
      assert.equal(await inside(dial(apiService, 443)), 'closed')

      // A tunnel: something outside that listens on the port of the DNS.
      const outside = await (await portolan.namespace('outside', t)).agent('none')
      const address = (await outside.script(LISTEN)).trim()
      for (const script of [dial(address, 53), sendTo(address, 53)]) {
        assert.equal(await agent.script(script), 'open')
        assert.equal(await inside(script), 'closed')
      }
    },
  )

  test('with policies enforced, only admitted agents reach routers, at the MCP port', options, async t => {
    const portolan = running()
    const enforcement = await enforcePolicies(portolan.cluster)
    t.after(() => enforcement.stop())
    const space = await portolan.namespace('doors', t)
    const friends = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'friends' } } }
    await space.apply(server('kit', { npm }), gateway('tools', { from: [friends] }))
    await space.untilServing('tools', { ready: 1 })
    const addressOf = async (pods: Promise<{ status?: { podIP?: string } }[]>) =>
      (await pods)[0]?.status?.podIP ?? ''
    const [bridge, router] = await Promise.all([addressOf(space.pods('kit')), addressOf(space.pods('tools'))])
    const operator = await addressOf(portolan.system.pods('portolan'))
    const own = await space.agent('tools')
    const friend = await (await portolan.namespace('friends', t)).agent('none')
    const stranger = await (await portolan.namespace('strangers', t)).agent('none')
    const endpoints = [
      [bridge, 8080],
      [router, 8080],
      [router, 8081],
      [operator, 8080],
    ] as const
    const open = async (agent: typeof own) =>
      Promise.all(endpoints.map(([host, port]) => agent.script(dial(host, port))))
    assert.deepEqual(await open(own), ['closed', 'open', 'closed', 'closed'])
    assert.deepEqual(await open(friend), ['closed', 'open', 'closed', 'closed'])
    assert.deepEqual(await open(stranger), ['closed', 'closed', 'closed', 'closed'])
    assert.match(await own.call('kit:echo', { message: 'hello' }), /hello/)
  })

  test(
    'with policies enforced, only routers reach the pod of a user, and it answers nobody without its token',
    options,
    async t => {
      const portolan = running()
      const enforcement = await enforcePolicies(portolan.cluster)
      t.after(() => enforcement.stop())
      const space = await portolan.namespace('own-doors', t)
      await space.apply(
        secret('callers', { ada: tokenOf('ada'), ben: tokenOf('ben') }),
        server('kit', { ...fixture(), sessions: 'perUser' }),
        gateway('tools', { router: { replicas: 1 }, auth: { tokens: { secretName: 'callers' } } }),
      )
      await space.untilServing('tools', { ready: 1 })
      const callers = await Promise.all(
        ['ada', 'ben'].map(name => callerOf(portolan.cluster, space.name, 'tools', tokenOf(name))),
      )
      t.after(() => {
        for (const caller of callers) caller.stop()
      })
      const [ada] = callers as [Caller, Caller]
      for (const caller of callers) assert.equal(await caller.call('kit:echo', { text: 'inside' }), 'inside')
      const pod = (await space.pods('kit')).find(one => userOf(one) === idOf('ada'))
      const host = pod?.status?.podIP ?? assert.fail('ada has no pod')
      const neighbour = await space.agent('tools')
      for (const port of [8080, 9464]) {
        assert.equal(await neighbour.script(dial(host, port)), 'closed')
        assert.equal(await fromServer(portolan, space, idOf('ben'))(dial(host, port)), 'closed')
      }

      // A pod that poses as a router can connect, and gets no further.
      const posing = await space.agent('tools', { name: 'posing', labels: ROUTER })
      await until('the port is open', async () => (await posing.script(dial(host, 8080))) === 'open')
      const tokenOfPod = (user: string) => tokenIn(portolan, space.name, `mcp-kit-u-${idOf(user)}`)
      const shared = await tokenIn(portolan, space.name, 'mcp-kit')
      for (const token of [undefined, tokenOf('ada'), shared, await tokenOfPod('ben')])
        assert.equal(await posing.script(ask(host, token)), '401')
      // Known, but it does not say for which Secret of the user the request is meant.
      assert.equal(await posing.script(ask(host, await tokenOfPod('ada'))), '503')
      assert.equal(await ada.call('kit:echo', { text: 'still inside' }), 'still inside')
    },
  )
}

/** Runs a script in the container of the server `kit`; with the id of a user, in the container of that user's pod. */
function fromServer({ kubectl }: Portolan, space: Namespace, user = '') {
  return async (script: string) => {
    const pod = (await space.pods('kit')).find(one => userOf(one) === user)
    const name = pod?.metadata.name ?? ''
    return kubectl(
      '--namespace',
      space.name,
      'exec',
      name,
      '--container',
      'server',
      '--',
      'node',
      '--eval',
      script,
    )
  }
}

const SAY = `const say = word => { process.stdout.write(word); process.exit() }; setTimeout(() => say('closed'), ${SILENT_MS});`
const RESOLVE = `${SAY} process.getBuiltinModule('dns').lookup('portolan.${SYSTEM}.svc', error => say(error ? 'closed' : 'open'))`

function dial(host: string, port: number): string {
  return `${SAY} process.getBuiltinModule('net').connect(${port}, '${host}').on('connect', () => say('open')).on('error', () => say('closed'))`
}

/** Prints the status of a call of a tool at a bridge. */
function ask(host: string, token: string | undefined): string {
  const headers = { ...MCP_HEADERS, ...(token !== undefined && { authorization: `Bearer ${token}` }) }
  const init = {
    method: 'POST',
    headers,
    body: requestBody('tools/call', { name: 'environment', arguments: {} }),
  }
  return `${SAY} fetch('http://${host}:8080/mcp', ${JSON.stringify(init)}).then(response => say(String(response.status)))`
}

function sendTo(host: string, port: number): string {
  return `${SAY} const socket = process.getBuiltinModule('dgram').createSocket('udp4')
socket.on('message', () => say('open')).send('x', ${port}, '${host}')`
}

/** Prints its address; a child of it goes on listening. */
const LISTEN = `const listening = \`process.getBuiltinModule('net').createServer(socket => socket.on('error', () => {})).listen(53)
const udp = process.getBuiltinModule('dgram').createSocket('udp4')
udp.on('message', (text, from) => udp.send(text, from.port, from.address)).bind(53, () => process.send('up'))\`
const child = process.getBuiltinModule('child_process').spawn(process.execPath, ['--eval', listening], { detached: true, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
child.on('message', () => {
  process.stdout.write(Object.values(process.getBuiltinModule('os').networkInterfaces()).flat().find(({ internal }) => !internal).address)
  process.exit()
})`
