/** What a router passes on between caller and server, for every way to call: nothing is lost or added. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { JsonObject } from '../../core/json.ts'
import type { McpRoute } from '../../core/mcp/server/handler.ts'
import { createFixture, type FixtureServer, type RequestOptions } from './fixture.ts'

/** An integer that a double rounds by one, and one of which a double loses the last digits. */
const BIG = '9007199254740993'
const HUGE = '12345678901234567890123'

const SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    id: { type: 'integer' },
    region: { type: 'string', 'x-mcp-header': 'Region' },
    count: { type: 'integer', 'x-mcp-header': 'Count' },
  },
}

const offers: NonNullable<FixtureServer['offers']> = {
  tools: [
    { name: 'look', description: 'Looks', inputSchema: SCHEMA },
    { name: 'plain', description: 'Plain', inputSchema: { type: 'object' } },
  ],
  prompts: [{ name: 'greet', arguments: [{ name: 'who' }] }],
  resources: [{ uri: 'note://one', name: 'one' }],
}

type Way = { route: McpRoute; params: (args: JsonObject) => JsonObject }

const gateway = (profile: 'hierarchical' | 'search' | 'registry' | 'direct'): McpRoute => ({
  kind: 'gateway',
  profile,
})
const SERVER: McpRoute = { kind: 'server', server: 'files' }

/** Every way to call the tool `look`. */
const WAYS: Record<string, Way> = {
  execute_mcp_tool: {
    route: gateway('hierarchical'),
    params: args => ({
      name: 'execute_mcp_tool',
      arguments: { tool_path: 'files:look', arguments: args },
    }),
  },
  'execute_mcp_tool, nested': {
    route: gateway('hierarchical'),
    params: args => ({
      name: 'execute_mcp_tool',
      arguments: { arguments: { tool_path: 'files:look', arguments: args } },
    }),
  },
  mcp_execute_tool: {
    route: gateway('search'),
    params: args => ({
      name: 'mcp_execute_tool',
      arguments: { toolName: 'look', serverId: 'files', args },
    }),
  },
  execute: {
    route: gateway('registry'),
    params: args => ({ name: 'execute', arguments: { tool: 'files:look', args } }),
  },
  'a listed name': {
    route: gateway('direct'),
    params: args => ({ name: 'files__look', arguments: args }),
  },
  'a single server': { route: SERVER, params: args => ({ name: 'look', arguments: args }) },
}

function start(server: Partial<FixtureServer> = {}) {
  return createFixture(
    { files: { offers, ...server } },
    { allowedProfiles: ['search', 'registry', 'direct'] },
  )
}

for (const [name, { route, params }] of Object.entries(WAYS)) {
  test(`by ${name}: arguments reach the server unchanged, including long numbers`, async () => {
    const text = `{"id": ${BIG}, "more":[${HUGE}, 1.50, 1E2 ], "text" : "\\u00e4" }`
    const { fixture, request } = written(text)
    const reply = await fixture.request('tools/call', request.params, { route, text: request.text })
    assert.equal(reply.result?.isError, undefined)
    assert.equal(fixture.sent[0]?.call.argumentsText, text)
  })

  test(`by ${name}: the caller, _meta and unknown parameters are passed on`, async () => {
    const fixture = start()
    const more: RequestOptions = {
      route,
      client: 'anna',
      capabilities: { elicitation: { form: {} } },
      ask: async () => ({ result: {} }),
      logLevel: 'warning',
      headers: { traceparent: '00-1', 'mcp-param-tenant': 'a' },
      notify: () => {},
    }
    const meta = { progressToken: 7, vendor: { deep: [null, 1] } }
    const answers = { inputResponses: { q: { action: 'accept' } }, requestState: 'theirs' }
    await fixture.request(
      'tools/call',
      { ...params({ id: 1 }), _meta: meta, ...answers, unheardOf: true },
      more,
    )
    const { call } = fixture.sent[0] ?? assert.fail()
    assert.deepEqual(call.params, {
      name: 'look',
      arguments: { id: 1 },
      _meta: meta,
      ...answers,
      unheardOf: true,
    })
    const { client, capabilities, logLevel, headers } = more
    assert.partialDeepStrictEqual(call.caller, { client, capabilities, logLevel, headers })
    assert.equal(call.caller.notify, more.notify)
    assert.equal(typeof call.caller.ask, 'function')
  })

  test(`by ${name}: a question in a result is passed on as the server wrote it`, async () => {
    const result = {
      resultType: 'input_required',
      inputRequests: { q: { method: 'elicitation/create', params: { url: 'ui://page/1' } } },
      requestState: 'opaque',
      content: [{ type: 'text', text: 'x'.repeat(3_000) }],
      _meta: { ui: { resourceUri: 'ui://board/main' } },
    }
    const answer = { result, resultText: JSON.stringify(result) }
    const limits = { callTimeoutMs: 60_000, startTimeoutMs: 60_000, concurrency: 16, maxResultBytes: 1_024 }
    const fixture = start({ answer: () => answer, server: { sessions: 'perClient', limits } })
    const args = route === SERVER ? {} : { ID: '5' } // Gateways correct this, and add a note to other results.
    assert.equal(await fixture.request('tools/call', params(args), { route }), answer)
  })

  test(`by ${name}: errors that a program must handle keep their data`, async () => {
    for (const code of [-32021, -32042]) {
      const error = { code, message: 'no', data: { requiredCapabilities: { sampling: {} } } }
      const fixture = start({ answer: () => ({ error }) })
      assert.deepEqual(await fixture.request('tools/call', params({}), { route }), { error })
    }
  })

  test(`by ${name}: headers that the tool's schema asks for are made from the arguments`, async () => {
    const fixture = start()
    const headers = { 'mcp-param-count': 'stale', baggage: 'a=b' }
    await fixture.request('tools/call', params({ region: 'Zürich ', count: 7 }), { route, headers })
    assert.deepEqual(fixture.sent[0]?.call.caller.headers, {
      'mcp-param-region': `=?base64?${Buffer.from('Zürich ').toString('base64')}?=`,
      'mcp-param-count': '7',
      baggage: 'a=b',
    })
  })

  function written(text: string) {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: params({ $: 1 }) })
    const request = body.replace('{"$":1}', () => text)
    return { fixture: start(), request: { params: JSON.parse(request).params as JsonObject, text: request } }
  }
}

test('corrected arguments are serialized again; those from a text are sent as this text', async () => {
  const { execute_mcp_tool: way } = WAYS
  const cases = [
    [{ id: '5' }, undefined],
    ['{"id":5}', '{"id":5}'],
  ] as const
  for (const [given, text] of cases) {
    const fixture = start()
    const params = way?.params(given as unknown as JsonObject) ?? {}
    await fixture.request('tools/call', params, { text: JSON.stringify({ params }) })
    const { call } = fixture.sent[0] ?? assert.fail()
    assert.deepEqual([call.argumentsText, call.params?.arguments], [text, { id: 5 }])
  }
})

test("a tool without x-mcp-header arguments gets the caller's headers unchanged", async () => {
  const fixture = start()
  const headers = { traceparent: '00-1' }
  await fixture.call('files__plain', { region: 'a' }, { headers })
  assert.equal(fixture.sent[0]?.call.caller.headers, headers)
})

test('prompts and resources, natively and by execute, carry answers to questions and pass questions on', async () => {
  const _meta = { ui: { resourceUri: 'ui://page/1' } }
  const result = { resultType: 'input_required', requestState: 's', messages: [], contents: [], _meta }
  const answer = { result }
  const answers = { inputResponses: { q: { action: 'decline' } }, requestState: 's' }
  const execute = (tool_path: string) => ({ name: 'execute_mcp_tool', arguments: { tool_path } })
  for (const [method, params] of [
    ['prompts/get', { name: 'files__greet' }],
    ['resources/read', { uri: 'files+note://one' }],
    ['tools/call', execute('files:greet')],
    ['tools/call', execute('files|note://one')],
    ['tools/call', { name: 'read_mcp_resource', arguments: { uri: 'files|note://one' } }],
  ] as const) {
    const fixture = start({ answer: () => answer })
    const reply = await fixture.request(method, { ...params, ...answers, _meta: { a: 1 } })
    assert.equal(reply, answer)
    assert.partialDeepStrictEqual(fixture.sent[0]?.call.params, { ...answers, _meta: { a: 1 } })
  }
})

test("corrections of a prompt's arguments are noted in the result of execute", async () => {
  const fixture = start({
    answer: () => ({ result: { messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }] } }),
  })
  const { content } = await fixture.call('execute_mcp_tool', {
    tool_path: 'files:greet',
    arguments: '{"who":"x"}',
  })
  assert.deepEqual(
    content.map(({ text }) => text),
    ['user: Hi', 'Note: the arguments were sent as JSON text; send an object.'],
  )
})

test('content, _meta and unknown fields of a server are passed on unchanged', async () => {
  const noUri = fc
    .jsonValue({ maxDepth: 3 })
    .filter(value => !/"(?:uri|uriTemplate|ui|ui\/resourceUri|resultType)":/.test(JSON.stringify(value)))
  const field = fc.record({
    content: fc.array(noUri),
    _meta: noUri,
    structuredContent: noUri,
    unknown: noUri,
  })
  // A nested call is corrected, which adds a note to the content.
  const ways = Object.entries(WAYS).filter(([name]) => !name.endsWith('nested'))
  await fc.assert(
    fc.asyncProperty(
      field,
      fc.constantFrom(...ways.map(([, way]) => way)),
      async (written, { route, params }) => {
        const result = JSON.parse(JSON.stringify(written))
        const fixture = start({ answer: () => ({ result }) })
        const reply = await fixture.request('tools/call', params({}), { route })
        assert.deepEqual(reply, { result: JSON.parse(JSON.stringify(written)) })
      },
    ),
    { seed: 6, numRuns: 60 },
  )
})
