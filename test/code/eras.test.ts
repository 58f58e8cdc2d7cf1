/** Scripts of clients of both eras that use servers of both: questions of servers, permission to call tools, progress and cancellation. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { startHttpFixture } from '../conformance/fixture/http.ts'
import { startRealRouter } from '../meta/real-router.ts'
import { legacyClient, modernClient } from '../support/answering-clients.ts'
import { until } from '../support/until.ts'
import { type CodeChanges, codeOf } from './script-gateway.ts'

const ERAS = ['legacy', 'modern'] as const
type Era = (typeof ERAS)[number]

/** Tools that ask, with the method of the question and the result that they then have. */
const ASKING: Record<string, [method: string, said: RegExp]> = {
  test_input_required_result_elicitation: ['elicitation/create', /^Hello, Ann!$/],
  test_sampling: ['sampling/createMessage', /^LLM response: hello$/],
  test_input_required_result_list_roots: ['roots/list', /file:\/\/\/mine/],
}

for (const upstream of ERAS)
  for (const downstream of ERAS) {
    const cell = `${downstream} client, ${upstream} server`

    test(`${cell}: a server's question during a script reaches the client, and the result reaches the script`, async t => {
      const { client, run } = await start(t, downstream, upstream)
      for (const [tool, [method, said]] of Object.entries(ASKING)) {
        const args = tool === 'test_sampling' ? { prompt: 'Hi' } : {}
        const source = `const a = await tools.fixture.${tool}(input); return a`
        assert.match(await run(source, args), said, tool)
        assert.deepEqual(client.asked.splice(0), [method], tool)
      }
    })

    test(`${cell}: a client that cannot be asked is not asked, and the script can catch the error`, async t => {
      const { client, run } = await start(t, downstream, upstream, {}, {})
      const said = await run(
        'try { return await tools.fixture.test_missing_capability({}) } catch (e) { return e.message }',
      )
      assert.match(said, /sampling/)
      assert.deepEqual(client.asked, [])
    })
  }

for (const downstream of ERAS) {
  test(`${downstream} client: a tool of the gateway's ask list is not called if the person does not allow it`, async t => {
    const { client, run } = await start(t, downstream, 'modern', { ask: ['fixture:cancelled'] })
    const said = await run(
      'try { return await tools.fixture.cancelled({}) } catch (e) { return [e.kind, e.message] }',
    )
    assert.match(said, /"denied","The person who was asked does not allow fixture:cancelled\."/)
    assert.deepEqual(client.asked, ['elicitation/create'])
  })

  test(`${downstream} client: if the client cannot be asked, the error says to call the tool outside of a script`, async t => {
    const { client, run } = await start(t, downstream, 'modern', { ask: ['fixture:cancelled'] }, {})
    assert.match(
      await run('return tools.fixture.cancelled({})'),
      /you cannot be asked: call it outside of a script/,
    )
    assert.deepEqual(client.asked, [])
  })

  test(`${downstream} client: progress reports each call of a script, and cancelling ends the call at the server`, async t => {
    const { client, run, isCalling } = await start(t, downstream, 'modern')
    const steps: number[] = []
    const stop = new AbortController()
    const source =
      'await tools.fixture.cancelled({}); await tools.fixture.cancelled({}); return tools.fixture.hold({})'
    const params = { name: 'run_mcp_script', arguments: { code: source } }
    const reached = Promise.withResolvers<void>()
    const options = {
      signal: stop.signal,
      onprogress: ({ progress }: { progress: number }) => {
        if (steps.push(progress) === 2) reached.resolve()
      },
    }
    const { client: sdk } = client
    const held = 'listen' in sdk ? sdk.callTool(params, options) : sdk.callTool(params, undefined, options)
    held.catch(() => {})
    await reached.promise
    assert.deepEqual(steps, [1, 2])
    await until(isCalling)
    stop.abort()
    await assert.rejects(held)
    while ((await run('return tools.fixture.cancelled({})')) !== '1') t.signal.throwIfAborted()
  })
}

async function start(
  t: TestContext,
  downstream: Era,
  upstream: Era,
  code: CodeChanges = {},
  capabilities?: JsonObject,
) {
  const fixture = await startHttpFixture({ era: upstream })
  t.after(() => fixture.close())
  const { at, router } = await startRealRouter(
    t,
    { fixture: { url: fixture.url } },
    { code: codeOf(code), allowedProfiles: ['code'] },
  )
  const connect = downstream === 'legacy' ? legacyClient : modernClient
  const client = await connect(t, at('code'), capabilities)
  const run = (source: string, input: JsonObject = {}) =>
    client.call('run_mcp_script', { code: source, input })
  const isCalling = async () =>
    (await router.metrics.registry.metrics()).includes('portolan_upstream_calls_active{server="fixture"} 1')
  return { client, run, isCalling }
}
