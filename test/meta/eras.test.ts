/** Clients of both eras and servers of both, through a real router: questions, updates, logs, progress and cancellation. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { isObject, type JsonObject } from '../../core/json.ts'
import { startHttpFixture } from '../conformance/fixture/http.ts'
import { legacy, modern, modernHeaders, post } from '../front/post.ts'
import { legacyClient, modernClient } from '../support/answering-clients.ts'
import { heardOf } from './heard.ts'
import { startRealRouter } from './real-router.ts'

const ERAS = ['legacy', 'modern'] as const
type Era = (typeof ERAS)[number]
type Way = 'execute' | 'direct' | 'server'

const WATCHED = 'test://watched-resource'

/** Tools that ask the client: the method of the question, and what the tool answers then. */
const ASKING: Record<string, [method: string, answer: RegExp]> = {
  test_input_required_result_elicitation: ['elicitation/create', /^Hello, Ann!$/],
  test_elicitation_url: ['elicitation/create', /^Visited: .*accept/],
  test_sampling: ['sampling/createMessage', /^LLM response: hello$/],
  test_input_required_result_list_roots: ['roots/list', /file:\/\/\/mine/],
}

for (const upstream of ERAS)
  for (const downstream of ERAS) {
    const pair = `${downstream} client, ${upstream} server`
    for (const way of ['execute', 'direct', 'server'] as const)
      test(`${pair}, ${way}: questions of the server reach the client, and the answers reach the call`, async t => {
        const { client, called } = await start(t, downstream, upstream, way)
        for (const [tool, [method, answer]] of Object.entries(ASKING)) {
          const [name, args] = called(tool, tool === 'test_sampling' ? { prompt: 'Hi' } : {})
          assert.match(await client.call(name, args), answer, tool)
          assert.deepEqual(client.asked.splice(0), [method], tool)
        }
      })

    test(`${pair}: a client that declared no capabilities is not asked, and the error names the missing ones`, async t => {
      const { client, called } = await start(t, downstream, upstream, 'execute', {})
      const calling = client.call(...called('test_missing_capability', {}))
      const answer = await calling.catch((error: { code?: number; message: string }) => error)
      assert.match(JSON.stringify(typeof answer === 'string' ? answer : answer.message), /sampling/)
      assert.deepEqual(client.asked, [])
    })

    test(`${pair}: a result has the fields of the client's era`, async t => {
      const fixture = await startFixture(t, upstream)
      const { at } = await startRealRouter(t, { fixture })
      const say = downstream === 'legacy' ? legacy : modern
      const headers = (name: string) => (downstream === 'legacy' ? {} : modernHeaders('tools/call', name))
      for (const [route, name, args] of [
        ['hierarchical', 'execute_mcp_tool', { tool_path: 'fixture:cancelled' }],
        ['direct', 'fixture__cancelled', {}],
        [{ server: 'fixture' }, 'cancelled', {}],
      ] as const) {
        const sent = say('tools/call', { name, arguments: args })
        const { result } = (await post(at(route), sent, headers(name))).json as { result: JsonObject }
        const isModern = downstream === 'modern'
        assert.equal(result.resultType, isModern ? 'complete' : undefined)
        assert.equal(isObject(result._meta) && 'io.modelcontextprotocol/serverInfo' in result._meta, isModern)
      }
    })

    test(`${pair}: progress and log messages come with the call`, async t => {
      const { client, called } = await start(t, downstream, upstream, 'execute')
      const steps: number[] = []
      const [name, args] = called('test_tool_with_progress', {})
      await callWith(
        client.client,
        { name, arguments: args },
        { onprogress: ({ progress }) => void steps.push(progress) },
      )
      assert.deepEqual(steps, [0, 50, 100])
      await client.client.setLoggingLevel?.('info').catch(() => {})
      const _meta = downstream === 'modern' ? { 'io.modelcontextprotocol/logLevel': 'info' } : {}
      const [logging, given] = called('test_logging_tool', {})
      await client.client.callTool({ name: logging, arguments: given, _meta })
      const logs = client.heard.filter(({ method }) => method === 'notifications/message')
      assert.deepEqual(
        logs.map(({ params }) => params?.data),
        ['Tool started', 'Tool in the middle', 'Tool finished'],
      )
    })

    test(`${pair}: a call that its client cancels ends at the server`, async t => {
      const { client, called } = await start(t, downstream, upstream, 'execute')
      const stop = new AbortController()
      const reached = Promise.withResolvers<void>()
      const [name, args] = called('hold', {})
      const held = callWith(
        client.client,
        { name, arguments: args },
        { signal: stop.signal, onprogress: () => reached.resolve() },
      )
      held.catch(() => {})
      await reached.promise
      stop.abort()
      await assert.rejects(held)
      const count = async () => client.call(...called('cancelled', {}))
      while ((await count()) !== '1') t.signal.throwIfAborted()
    })

    test(`${pair}: updates of a resource have the URI that the client knows`, async t => {
      const { client, called } = await start(t, downstream, upstream, 'execute')
      const uri = `fixture+${WATCHED}`
      const updated = heardOf(t, client, 'notifications/resources/updated')
      if ('listen' in client.client) await client.client.listen({ resourceSubscriptions: [uri] })
      else await client.client.subscribeResource({ uri })
      await client.call(...called('touch_resource', {}))
      assert.equal((await updated).params?.uri, uri)
    })
  }

test('a client is notified only of the list that has changed', async t => {
  const fixture = await startFixture(t, 'modern')
  const { at, reload } = await startRealRouter(t, { fixture })
  for (const connect of [legacyClient, modernClient]) {
    const client = await connect(t, at('direct'))
    if ('listen' in client.client)
      await client.client.listen({ toolsListChanged: true, resourcesListChanged: true })
    const notified = heardOf(t, client, 'notifications/tools/list_changed')
    await client.call('fixture__test_trigger_tool_change')
    await reload()
    await notified
    const changes = client.heard.filter(({ method }) => /list_changed/.test(method))
    assert.deepEqual(
      changes.map(({ method }) => method),
      ['notifications/tools/list_changed'],
    )
  }
})

type Options = { signal?: AbortSignal; onprogress?: (progress: { progress: number }) => void }

type AnyClient = Awaited<ReturnType<typeof legacyClient | typeof modernClient>>['client']

/** The older SDK takes a schema before the options. */
function callWith(client: AnyClient, params: { name: string; arguments: JsonObject }, options: Options) {
  return 'listen' in client ? client.callTool(params, options) : client.callTool(params, undefined, options)
}

async function start(t: TestContext, downstream: Era, upstream: Era, way: Way, capabilities?: JsonObject) {
  const fixture = await startFixture(t, upstream)
  const { at } = await startRealRouter(t, { fixture })
  const connect = downstream === 'legacy' ? legacyClient : modernClient
  const route = { execute: 'hierarchical', direct: 'direct', server: { server: 'fixture' } } as const
  const client = await connect(t, at(route[way]), capabilities)
  /** Name and arguments of a call to a tool of the fixture, in this way. */
  const called = (tool: string, args: JsonObject): [string, JsonObject] => {
    if (way === 'execute') return ['execute_mcp_tool', { tool_path: `fixture:${tool}`, arguments: args }]
    return [way === 'direct' ? `fixture__${tool}` : tool, args]
  }
  return { client, called }
}

async function startFixture(t: TestContext, era: Era) {
  const fixture = await startHttpFixture({ era })
  t.after(() => fixture.close())
  return { url: fixture.url }
}
