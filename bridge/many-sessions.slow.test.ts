/** The maximum number of sessions of a bridge, each with a real child. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { legacyClient } from '../test/support/answering-clients.ts'
import { openSession, startSessionBridge, type TestSession } from '../test/support/session-bridge.ts'
import { MAX_CHILDREN } from './session-children.ts'

test('while all children are in use, lists are still answered and calls are refused, until a child becomes free', async t => {
  const bridge = await startSessionBridge(t)
  const sessions = await Promise.all(Array.from({ length: MAX_CHILDREN + 1 }, () => openSession(bridge)))
  const last = sessions.pop() as TestSession
  for (const session of sessions) await session.call('pid')
  await assert.rejects(last.call('pid'), {
    message: `All ${MAX_CHILDREN} sessions of the server are in use; one becomes free when its client ends it, or after 3 min without a call`,
  })
  assert.equal((await last.post('tools/list')).status, 200)
  const { client, transport } = await legacyClient(t, bridge.url)
  assert.ok(
    (await client.listTools()).tools.length > 0,
    'one more child is started for the lists of a client that declares capabilities, as discovery does',
  )
  const { client: other } = await legacyClient(t, bridge.url)
  await assert.rejects(other.listTools(), /in use/)
  await transport.terminateSession()
  await fetch(bridge.url, { method: 'DELETE', headers: { 'mcp-session-id': sessions[0]?.id ?? '' } })
  assert.ok(Number(await last.call('pid')))
})
