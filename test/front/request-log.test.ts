/** The request log says which client called, as far as its era names clients, and nothing with which others could act as that client. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { createLog } from '../../core/log.ts'
import { startHttpFixture } from '../conformance/fixture/http.ts'
import { startRealRouter } from '../meta/real-router.ts'
import { legacyClient, modernClient } from '../support/answering-clients.ts'
import { callTool } from '../support/mcp.ts'

test('a line of a call or search names the client and its session, if there is one', async t => {
  const lines: JsonObject[] = []
  const log = createLog({ destination: { write: line => void lines.push(JSON.parse(line)) } })
  const fixture = await startHttpFixture({ era: 'legacy' })
  t.after(() => fixture.close())
  const { at } = await startRealRouter(t, { fixture: { url: fixture.url } }, {}, log)
  const url = at('hierarchical')
  const called = async (call: () => Promise<unknown>) => {
    lines.length = 0
    await call()
    const { client, session, tool } = lines.find(({ msg }) => msg === 'request') ?? {}
    return { client, session, tool }
  }
  const args = { tool_path: 'fixture:cancelled' }
  const older = await legacyClient(t, url)
  const { session, ...first } = await called(() => older.call('execute_mcp_tool', args))
  assert.deepEqual(first, { client: 'answering/1', tool: 'cancelled' })
  assert.match(String(session), /^[\w-]{8}$/)
  assert.ok(!older.transport.sessionId?.includes(String(session)))
  const refused = await called(() => older.call('execute_mcp_tool', { tool_path: 'fixture:cancelledd' }))
  assert.deepEqual([refused.client, refused.session], ['answering/1', session])
  const other = await legacyClient(t, url)
  assert.notEqual((await called(() => other.call('execute_mcp_tool', args))).session, session)
  const newer = await modernClient(t, url)
  assert.deepEqual(await called(() => newer.call('execute_mcp_tool', args)), {
    ...{ client: 'answering/1', session: undefined },
    tool: 'cancelled',
  })
  await older.call('discover_mcp_tools', { query: 'cancelled' })
  const search = lines.find(({ msg }) => msg === 'search')
  assert.deepEqual([search?.client, search?.session], ['answering/1', session])
  const nobody = await called(() => callTool(url, 'execute_mcp_tool', args))
  assert.deepEqual(nobody, { client: undefined, session: undefined, tool: 'cancelled' })
})
