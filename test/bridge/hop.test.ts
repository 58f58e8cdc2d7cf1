/** From a client through a router and a bridge to a stdio server and back: every kind of question for each pair of eras, and notifications. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { BridgeOptions } from '../../bridge/bridge.ts'
import { legacyClient, modernClient } from '../support/answering-clients.ts'
import { startTestBridge } from '../support/bridge.ts'
import { startTestGateway } from '../support/local-gateway.ts'
import { createWorkspace } from '../support/manifests.ts'
import { until } from '../support/until.ts'
import { ANSWERS, askingCommand, NOTE_URI } from '../upstreams/asking/questions.ts'

type Child = Parameters<typeof askingCommand>[0]
type Hop = { child: Child; sessions: BridgeOptions['sessions'] }

const KINDS = Object.keys(ANSWERS).join(' ')
const HOPS: Record<string, Hop> = {
  own: { child: 'legacy', sessions: 'perClient' },
  'own-modern': { child: 'modern', sessions: 'perClient' },
  shared: { child: 'modern', sessions: 'shared' },
  crowd: { child: 'legacy', sessions: 'shared' },
}

/** A gateway whose servers stand behind bridges. */
async function start(t: TestContext) {
  const space = createWorkspace()
  t.after(() => space.remove())
  for (const [name, { child, sessions }] of Object.entries(HOPS)) {
    const command = { ...askingCommand(child), startTimeoutMs: 60_000 }
    const { url } = await startTestBridge(t, { name, sessions, command })
    space.write(name, { remote: { url, transport: 'streamable-http' }, sessions })
  }
  const gateway = await startTestGateway(space, { exposeServers: true })
  t.after(() => gateway.close())
  const origin = new URL(gateway.url).origin
  return { gateway, routeOf: (server: string) => `${origin}/servers/${server}/mcp` }
}

test("questions pass router and bridge for each pair of eras, by the meta-tool and by the server's route", async t => {
  const { gateway, routeOf } = await start(t)
  for (const connect of [legacyClient, modernClient]) {
    const { call, asked } = await connect(t, gateway.url)
    const execute = async (server: string, kinds: string) => {
      const args = { tool_path: `${server}:ask`, arguments: { kinds } }
      return JSON.parse(await call('execute_mcp_tool', args))
    }
    for (const server of ['own', 'own-modern', 'shared'])
      assert.deepEqual(await execute(server, KINDS), ANSWERS, server)
    assert.equal(asked.length, 12)
    assert.match((await execute('crowd', 'roots')).roots.failed, /roots/)
    for (const server of ['own', 'shared']) {
      const direct = await connect(t, routeOf(server))
      assert.deepEqual(JSON.parse(await direct.call('ask', { kinds: KINDS })), ANSWERS, server)
    }
  }
})

test('resource updates and log messages pass router and bridge', async t => {
  const { routeOf } = await start(t)
  const legacy = await legacyClient(t, routeOf('own'))
  await legacy.client.subscribeResource({ uri: NOTE_URI })
  await legacy.client.setLoggingLevel('error')
  await legacy.call('touch')
  await legacy.call('log')
  await until(() => legacy.heard.length === 2)
  assert.deepEqual(legacy.heard.map(({ params }) => params?.data ?? params?.uri).sort(), ['large', NOTE_URI])
  for (const server of ['shared', 'crowd']) {
    const { client, call, heard } = await modernClient(t, routeOf(server))
    await client.listen({ resourceSubscriptions: [NOTE_URI] })
    await call('touch')
    await until(() => heard.length === 1)
    assert.equal(heard[0]?.params?.uri, NOTE_URI)
  }
})
