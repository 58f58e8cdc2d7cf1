/** A script can do only what its caller could do with single calls: access rules, pinned tools, limits, and what is recorded. */
import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import { BLUE, RED, rule, SERVERS, TOKENS } from '../front/access-router.ts'
import type { FixtureServer } from '../meta/fixture.ts'
import { until } from '../support/until.ts'
import { post, startScriptGateway } from './script-gateway.ts'

const ANY = { type: 'object', properties: {} } as const
const credentials = { secret: (name: string) => (name === 'callers' ? { red: RED, blue: BLUE } : undefined) }
const RULES = [
  rule('red', 'vermilion', { tools: { allow: ['*'], deny: ['*_delete'], readOnly: false } }),
  rule('blue', 'cobalt'),
]
const access = { ...OPEN_ACCESS, auth: TOKENS, rules: RULES }

test('scripts cannot use what their caller may not use, however they write its name', async t => {
  const { run, sent } = await startScriptGateway(t, SERVERS, {}, { access }, { credentials })
  const spellings = [
    'tools.cobalt.cobalt_get({})',
    'tools["cobalt:cobalt_get"]({})',
    'tools["cobalt__cobalt_get"]({})',
    'tools.COBALT.COBALT_GET({})',
    'tools.cobalt_get({})',
    'tools.cobalt["cobalt-get"].raw({})',
    'tools["cobalt/cobalt_get"]({})',
    'tools.vermilion.vermilion_delete({})',
    'tools["vermilion: vermilion_delete"]({})',
    'tools.run_mcp_script({code: "1"})',
    'tools.execute_mcp_tool({tool_path: "cobalt:cobalt_get"})',
    'tools.find_tools({query: "a"})',
    'tools.vermilion.vermilion_prompt({})',
    'read("cobalt|file:///cobalt/one")',
  ]
  for (const spelling of spellings) {
    const { content, isError } = await run(`return ${spelling}`, { token: RED })
    assert.equal(isError, true, spelling)
    assert.match(content[0]?.text ?? '', /There is no|is a prompt|no such tool/, spelling)
  }
  assert.deepEqual(sent, [])
  const found = await run('return discover("cobalt get things", {limit: 20})', { token: RED })
  assert.ok(!/cobalt_/.test(found.content[0]?.text ?? ''))
  await run('return tools.vermilion.vermilion_get({})', { token: RED })
  assert.deepEqual(sent, ['vermilion:vermilion_get'])
})

test('a value that one caller kept cannot be read by another', async t => {
  const { run } = await startScriptGateway(t, SERVERS, {}, { access }, { credentials })
  const kept = await run('return keep({secret: 1})', { token: RED })
  const handle = kept.content[0]?.text
  const own = await run('return read(input)', { token: RED, input: handle })
  assert.equal(own.content[0]?.text, '{"secret":1}')
  const other = await run('return read(input)', { token: BLUE, input: handle })
  assert.match(other.content[0]?.text ?? '', /kept for somebody else/)
})

test('tools that wait for approval and suspended servers are not called, however scripts write their names', async t => {
  const tool = { name: 'read', inputSchema: ANY }
  const changed = {
    definition: tool,
    tokens: 1,
    descriptionTokens: 1,
    schemaTokens: 1,
    change: 'changed' as const,
  }
  const { run, sent } = await startScriptGateway(t, {
    pinned: {
      server: { tools: { allow: ['*'], deny: [], overrides: {}, pin: 'Hold' } },
      offers: {
        tools: [{ ...tool, name: 'write' }],
        held: { tools: [changed], foundDigest: 'of what was found' },
      },
    },
    off: { server: { status: { state: 'suspended', hidden: true } }, offers: { tools: [tool] } },
  })
  const refusals = {
    'tools.pinned.read({})': /"denied".*approv/,
    'tools["pinned:read"].raw({})': /"denied".*approv/,
    'tools["pinned__read"]({})': /"denied".*approv/,
    'tools.off.read({})': /"(unavailable|rejected)"/,
    'tools["off:read"].raw({})': /"(unavailable|rejected)"/,
  }
  for (const [call, refusal] of Object.entries(refusals)) {
    const { content } = await run(`try { return await ${call} } catch (e) { return [e.kind, e.message] }`)
    assert.match(content[0]?.text ?? '', refusal, call)
  }
  const found = await run('return (await discover("read write")).map(({path}) => path)')
  assert.equal(found.content[0]?.text, '["pinned:write"]')
  assert.deepEqual(sent, [])
})

test('a call or resource that needs more scopes than its caller has is denied, and the script goes on', async t => {
  const rules = [rule('all', 'vermilion', { subjects: [], scopes: ['write'], challenge: true })]
  const open = { ...access, auth: { ...TOKENS, anonymous: true }, rules }
  const { value, sent } = await startScriptGateway(t, SERVERS, {}, { access: open }, { credentials })
  for (const tried of ['tools.vermilion.vermilion_get({})', 'read("vermilion|file:///vermilion/one")'])
    assert.deepEqual(
      await value(`try { return await ${tried} } catch ({ kind, message }) { return { kind, message } }`),
      { kind: 'denied', message: 'This needs a token with the scopes: write.' },
    )
  assert.deepEqual(sent, [])
})

test('each call of a script counts against the limits of calls and of requests', async t => {
  const limited = {
    ...access,
    rateLimits: [{ per: 'Caller' as const, counts: 'calls' as const, limit: 3, everyMs: 60_000, burst: 3 }],
  }
  const { run, sent } = await startScriptGateway(t, SERVERS, {}, { access: limited }, { credentials })
  const source =
    'const all = await Promise.allSettled([1, 2, 3, 4, 5].map(() => tools.vermilion.vermilion_get({}))); return all.map(one => one.reason?.message ?? "ok")'
  const { content } = await run(source, { token: RED })
  const said = JSON.parse(content[0]?.text ?? '') as string[]
  assert.deepEqual(
    said.map(one => one === 'ok'),
    [true, true, true, false, false],
  )
  assert.equal(sent.length, 3)
  const requests = {
    ...access,
    rateLimits: [
      { per: 'Caller' as const, counts: 'requests' as const, limit: 3, everyMs: 60_000, burst: 3 },
    ],
  }
  const other = await startScriptGateway(t, SERVERS, {}, { access: requests }, { credentials })
  await other.run(source, { token: RED })
  assert.equal(other.sent.length, 2)
})

test('code.tools restricts scripts, and nothing else', async t => {
  const { run, router, sent } = await startScriptGateway(t, SERVERS, {
    tools: { allow: ['vermilion:*'], deny: ['*_delete'], readOnly: false },
  })
  assert.match(
    (await run('return tools.cobalt.cobalt_get({})')).content[0]?.text ?? '',
    /may not be called by scripts here/,
  )
  assert.match(
    (await run('return tools.Vermilion.vermilion_Delete({})')).content[0]?.text ?? '',
    /may not be called by scripts here/,
  )
  assert.deepEqual(sent, [])
  await post(new URL('/mcp/direct', router.url), 'cobalt__cobalt_get', {})
  assert.deepEqual(sent, ['cobalt:cobalt_get'])
})

test('destructive tools are called without a question only if the gateway allows that', async t => {
  const files: FixtureServer = {
    offers: {
      tools: [
        { name: 'wipe', inputSchema: ANY, annotations: { destructiveHint: true, readOnlyHint: true } },
        { name: 'list', inputSchema: ANY, annotations: { readOnlyHint: true } },
      ],
    },
  }
  for (const [destructive, ask, reached] of [
    ['Ask', [], false],
    ['Refuse', [], false],
    ['Allow', [], true],
    ['Allow', ['*:wipe'], false],
  ] as const) {
    const { run, sent } = await startScriptGateway(t, { files }, { destructive, ask: [...ask] })
    await run('return tools.files.wipe({})')
    assert.deepEqual(sent, reached ? ['files:wipe'] : [], destructive)
    await run('return tools.files.list({})')
    assert.equal(sent.at(-1), 'files:list')
  }
})

test('the audit stream has one id for a script and its calls, and the text of the script only with full arguments', async t => {
  for (const how of ['Digest', 'Full'] as const) {
    let text = ''
    const stream = new Writable({
      write(chunk, _encoding, done) {
        text += chunk
        done()
      },
    })
    const audit = {
      events: ['Calls' as const],
      arguments: how,
      sink: 'Stdout' as const,
      onOverflow: 'Drop' as const,
    }
    const options = { credentials, auditStream: () => stream }
    const { run, router } = await startScriptGateway(
      t,
      SERVERS,
      {},
      { access: { ...access, audit, rules: [...RULES, rule('red', 'cobalt')] } },
      options,
    )
    const source =
      'const got = await tools.vermilion.vermilion_get({}); return tools.cobalt.cobalt_get({got}) // hush'
    const { _meta } = await run(source, { token: RED })
    await router.close(0)
    const { id } = (_meta as Record<string, { id: string }>)['portolan.dev/script'] ?? assert.fail()
    const lines = text
      .split('\n')
      .filter(Boolean)
      .map(line => JSON.parse(line) as Record<string, unknown>)
    const records = lines
      .filter(({ script }) => script === id)
      .map(({ method, outcome, target }) => [method, outcome, (target as { server?: string })?.server])
    assert.deepEqual(records, [
      ['tools/call', 'ok', 'vermilion'],
      ['tools/call', 'ok', 'cobalt'],
      ['script', 'ok', undefined],
    ])
    assert.equal(text.includes('hush'), how === 'Full')
  }
})

test('metrics count scripts by their outcome, and the tokens that were saved', async t => {
  const big: FixtureServer = {
    offers: { tools: [{ name: 'rows', inputSchema: ANY }] },
    answer: () => ({
      result: {
        content: [{ type: 'text', text: JSON.stringify(Array.from({ length: 500 }, (_, id) => ({ id }))) }],
      },
    }),
  }
  const { run, router } = await startScriptGateway(t, { big }, { limits: { sandboxMs: 200 } })
  await run('return (await tools.big.rows()).length')
  await run('throw 1')
  await run('while (1);')
  const text = await router.metrics.registry.metrics()
  for (const outcome of ['ok', 'error', 'timeout'])
    assert.match(text, new RegExp(`portolan_scripts_total\\{outcome="${outcome}"\\} 1\\b`))
  assert.match(text, /portolan_scripts_active 0/)
  const kept = Number(/^portolan_tokens_kept_out_total (\d+)/m.exec(text)?.[1])
  assert.ok(kept > 1_500, `${kept}`)
})

test('more scripts than may run at once are refused as busy, and the others are not disturbed', async t => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  const slow: FixtureServer = {
    offers: { tools: [{ name: 'wait', inputSchema: ANY }] },
    answer: async () => {
      await answered
      return { result: { content: [{ type: 'text', text: 'done' }] } }
    },
  }
  const { run, sent } = await startScriptGateway(t, { slow }, { limits: { scripts: 2, scriptsPerClient: 2 } })
  const waiting = [run('return tools.slow.wait()'), run('return tools.slow.wait()')]
  await until(() => sent.length >= 2)
  const refused = await run('return 1')
  assert.match(refused.content[0]?.text ?? '', /Too many scripts run at the moment: try again in a moment/)
  answer()
  for (const { content } of await Promise.all(waiting)) assert.equal(content[0]?.text, 'done')
  assert.equal((await run('return 1')).content[0]?.text, '1')
})

test('a script ends when its time is used up, and the answer lists the calls that were made', async t => {
  const slow: FixtureServer = {
    offers: {
      tools: [
        { name: 'quick', inputSchema: ANY },
        { name: 'never', inputSchema: ANY },
      ],
    },
    answer: ({ params = {} }, signal) =>
      params.name === 'quick'
        ? { result: { content: [] } }
        : new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  }
  const { run, sent } = await startScriptGateway(t, { slow }, { limits: { timeoutMs: 1_500 } })
  const source =
    'await tools.slow.quick(); try { await tools.slow.never() } catch {} for (;;) await tools.slow.never()'
  const { content, isError } = await run(source)
  assert.equal(isError, true)
  assert.match(
    content[0]?.text ?? '',
    /^The script took longer than 1\.5 s: do less in one script\.\nCalls until then: 2, slow:quick 1, slow:never 1/,
  )
  assert.deepEqual(sent, ['slow:quick', 'slow:never'])
})

test('types of results are learned, but not where callers have different views or their own sessions', async t => {
  const rows: FixtureServer = {
    offers: { tools: [{ name: 'rows', description: 'All rows', inputSchema: ANY }] },
    answer: () => ({ result: { content: [{ type: 'text', text: '[{"id":1,"owner":"ann"}]' }] } }),
  }
  const seen = async (server: object, more: object, code = {}) => {
    const servers = { rows: { ...rows, server } }
    const { run } = await startScriptGateway(t, servers, code, more, { credentials })
    await run('return tools.rows.rows()', { token: RED })
    return (
      (await run('return (await discover("all rows"))[0].declaration', { token: RED })).content[0]?.text ?? ''
    )
  }
  assert.equal(await seen({}, {}), 'tools.rows.rows(): Promise<{id: number; owner: string}[]> // seen')
  const unknown = 'tools.rows.rows(): Promise<unknown>'
  assert.equal(await seen({}, {}, { learnTypes: false }), unknown)
  assert.equal(await seen({ sessions: 'perClient' }, {}), unknown)
  assert.equal(await seen({}, { access: { ...access, rules: [rule('red', 'rows')] } }), unknown)
})
