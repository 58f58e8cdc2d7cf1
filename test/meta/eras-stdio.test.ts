/** Clients of both eras and stdio servers of both, through a real router: with a child for each client, and with one that all share. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../core/async.ts'
import type { JsonObject } from '../../core/json.ts'
import { createStdioUpstream } from '../../core/mcp/client/stdio/stdio-upstream.ts'
import { legacyClient, modernClient } from '../support/answering-clients.ts'
import { ANSWERS, askingCommand } from '../upstreams/asking/questions.ts'
import { heardOf } from './heard.ts'
import { startRealRouter } from './real-router.ts'

const KINDS = ['form', 'url', 'sampling', 'roots'] as const
const METHODS = ['elicitation/create', 'elicitation/create', 'roots/list', 'sampling/createMessage']
const CLIENTS = { legacy: legacyClient, modern: modernClient }

for (const kind of ['legacy', 'modern'] as const)
  for (const [era, connect] of Object.entries(CLIENTS)) {
    test(`${era} client, its own ${kind} child: all questions that it asks at the same time are answered`, async t => {
      const client = await connect(t, await start(t, kind, 'perClient'))
      assert.deepEqual(await ask(client), { ...ANSWERS })
      assert.deepEqual(client.asked.toSorted(), METHODS)
    })

    test(`${era} client, shared ${kind} child: its questions are ${kind === 'modern' ? 'answered' : 'refused, since their caller is unknown'}`, async t => {
      const client = await connect(t, await start(t, kind, 'shared'))
      const answers = await ask(client)
      if (kind === 'modern') assert.deepEqual(answers, { ...ANSWERS })
      else for (const one of KINDS) assert.ok((answers[one] as JsonObject).failed, one)
      assert.equal(client.asked.length, kind === 'modern' ? KINDS.length : 0)
    })
  }

test('a notification of a 2025 client between calls reaches its own child, whose question reaches the client', async t => {
  const client = await legacyClient(t, await start(t, 'legacy', 'perClient'))
  await client.call('execute_mcp_tool', { tool_path: 'asking:pid' })
  await client.client.sendRootsListChanged()
  const logged = await heardOf(t, client, 'notifications/message')
  assert.deepEqual([logged.params?.data, client.asked], [1, ['roots/list']])
})

async function ask(client: { call: (name: string, args: JsonObject) => Promise<string> }) {
  const call = { tool_path: 'asking:ask', arguments: { kinds: KINDS.join(' ') } }
  return JSON.parse(await client.call('execute_mcp_tool', call)) as JsonObject
}

async function start(t: TestContext, kind: 'legacy' | 'modern', sessions: 'shared' | 'perClient') {
  const spec = { ...askingCommand(kind), sessions, startTimeoutMs: 60_000, idleAfterMs: 60_000, min: 0 }
  const make = () => createStdioUpstream(spec, { clock: systemClock })
  const { at } = await startRealRouter(t, { asking: { make, sessions } })
  return at('hierarchical')
}
