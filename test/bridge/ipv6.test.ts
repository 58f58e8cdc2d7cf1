/** IPv6-only networks: connections between agents, routers, bridges and servers use IPv6 addresses. */
import assert from 'node:assert/strict'
import { networkInterfaces } from 'node:os'
import { test } from 'node:test'
import { probe } from '../../bridge/probe.ts'
import { legacy, post } from '../front/post.ts'
import { beginSession } from '../manners/caller.ts'
import { startReplica } from '../manners/replica.ts'
import { startTestBridge } from '../support/bridge.ts'
import { startTestGateway } from '../support/local-gateway.ts'
import { createWorkspace } from '../support/manifests.ts'
import { request, type ToolAnswer } from '../support/mcp.ts'

const hasIpv6 = Object.values(networkInterfaces()).some(all => all?.some(({ family }) => family === 'IPv6'))
const options = { skip: !hasIpv6 && 'this machine has no IPv6' }

test('a call passes a router and a bridge', options, async t => {
  const bridge = await startTestBridge(t, { host: '::1' })
  const space = createWorkspace()
  t.after(() => space.remove())
  space.write('kit', { remote: { url: bridge.url } })
  const gateway = await startTestGateway(space, { host: '::1' })
  t.after(() => gateway.close())
  assert.match(gateway.url, /^http:\/\/\[::1\]:\d+\/mcp$/)
  const params = {
    name: 'execute_mcp_tool',
    arguments: { tool_path: 'kit:echo', arguments: { text: 'over six' } },
  }
  const { content } = (await request(gateway.url, 'tools/call', params)) as ToolAnswer
  assert.equal(content[0]?.text, 'over six')
})

test('a session is found at the replica that owns it', options, async t => {
  const [owner, other] = [
    await startReplica(t, { host: '::1', sessions: 'perClient' }),
    await startReplica(t, { host: '::1', sessions: 'perClient' }),
  ]
  const session = await beginSession(owner.url)
  const { status } = await post(other.url, legacy('tools/call', { name: 'nap', arguments: {} }), session)
  assert.equal(status, 200)
  assert.deepEqual([owner.seen.length, other.seen.length], [1, 0])
})

test(
  'the probe of a pod finds a server that listens on IPv6 only, and one on IPv4 only',
  options,
  async t => {
    for (const host of ['::1', '127.0.0.1']) {
      const { port } = await startTestBridge(t, { host })
      assert.equal(await probe(`http://127.0.0.1:${port}/mcp`, 10_000), undefined, host)
    }
  },
)
