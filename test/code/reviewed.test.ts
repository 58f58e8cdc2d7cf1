/** Reviewed scripts are tools: found, listed, checked, granted and recorded as any other, and run with the rights of their caller. */
import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { type AccessRule, OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import { reportAccess } from '../../core/catalog/access-report.ts'
import type { RouterScript } from '../../core/catalog/router-config.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { podCatalog } from '../../router/source/pod-catalog.ts'
import { BLUE, RED, rule, SERVERS, TOKENS } from '../front/access-router.ts'
import type { FixtureServer, ToolResult } from '../meta/fixture.ts'
import {
  post,
  type RunOptions,
  type ScriptGateway,
  reviewedScript as script,
  startScriptGateway,
} from './script-gateway.ts'

const NUMBERS: FixtureServer = {
  offers: {
    tools: [
      {
        name: 'square',
        description: 'Square a number',
        inputSchema: { type: 'object', properties: { of: { type: 'number' } }, required: ['of'] },
      },
      {
        name: 'drop',
        description: 'Drop all numbers',
        inputSchema: { type: 'object', properties: {} },
        annotations: { destructiveHint: true },
      },
    ],
  },
  answer: ({ params }) => {
    const { of = 0 } = (params?.arguments ?? {}) as { of?: number }
    return { result: { content: [{ type: 'text', text: String(of * of) }] } }
  },
}

const SUM: RouterScript = {
  name: 'sum-of-squares',
  description: 'Add the squares of the numbers from one to a limit',
  keywords: ['pythagoras'],
  inputSchema: {
    type: 'object',
    properties: { upTo: { type: 'integer', minimum: 1 } },
    required: ['upTo'],
    additionalProperties: false,
  },
  readOnly: false,
  code: `const all = await Promise.all(Array.from({ length: input.upTo }, (_, at) => tools.numbers.square({ of: at + 1 })))
return { sum: all.reduce((sum, one) => sum + Number(one), 0) }`,
}

async function call(
  { router }: ScriptGateway,
  path: string,
  args: JsonObject = {},
  more: RunOptions = {},
): Promise<ToolResult> {
  const url = new URL('/mcp/hierarchical', router.url)
  const { result } = await post(url, 'execute_mcp_tool', { tool_path: path, arguments: args }, more)
  assert.ok(isObject(result))
  return result as ToolResult
}

const textOf = ({ content }: ToolResult, at = 0): string => content[at]?.text ?? ''

test('a reviewed script is found by search and called like any tool, by each of its names, and also listed in the profile direct', async t => {
  const gateway = await startScriptGateway(t, { numbers: NUMBERS }, {}, { scripts: [SUM] })
  const url = (profile: string) => new URL(`/mcp/${profile}`, gateway.router.url)
  const found = await post(url('hierarchical'), 'discover_mcp_tools', { query: 'add squares of numbers' })
  assert.match(JSON.stringify(found), /scripts:sum-of-squares/)
  const byKeyword = await post(url('search'), 'mcp_search_tools', { query: 'pythagoras' })
  assert.match(JSON.stringify(byKeyword), /sum-of-squares/)
  for (const name of ['scripts:sum-of-squares', 'scripts__sum-of-squares', 'sum_of_squares']) {
    const { content, isError } = await call(gateway, name, { upTo: 3 })
    assert.equal(isError, undefined, name)
    assert.equal(content[0]?.text, '{"sum":14}')
    assert.match(content[1]?.text ?? '', /^3 calls in [\d.]+ s: numbers:square 3/)
  }
  const native = await post(url('direct'), 'scripts__sum-of-squares', { upTo: 2 })
  assert.match(JSON.stringify(native), /\{\\"sum\\":5\}/)
  const listed = await listOf(url('direct'))
  assert.ok(listed.some(({ name }) => name === 'scripts__sum-of-squares'))
})

test('arguments are corrected and checked by the inputSchema; the own route of the server scripts checks them too', async t => {
  const config = { scripts: [SUM], exposeServers: true }
  const gateway = await startScriptGateway(t, { numbers: NUMBERS }, {}, config)
  assert.equal(textOf(await call(gateway, 'scripts:sum-of-squares', { upTo: '2' })), '{"sum":5}')
  const missing = await call(gateway, 'scripts:sum-of-squares', {})
  assert.equal(missing.isError, true)
  assert.match(textOf(missing), /upTo/)
  const alone = new URL('/servers/scripts/mcp', gateway.router.url)
  assert.match(JSON.stringify(await post(alone, 'sum-of-squares', { upTo: 2 })), /\{\\"sum\\":5\}/)
  const refused = await post(alone, 'sum-of-squares', { upTo: 0 })
  assert.match(JSON.stringify(refused), /"isError":true/)
  assert.deepEqual(gateway.sent.length, 4)
})

test('without code mode there are no scripts', async t => {
  const gateway = await startScriptGateway(t, { numbers: NUMBERS }, {}, { scripts: [SUM], code: undefined })
  const { isError, ...answer } = await call(gateway, 'scripts:sum-of-squares', { upTo: 2 })
  assert.equal(isError, true)
  assert.match(textOf(answer as ToolResult), /There is no (tool|server)/)
})

test('a script runs with the rights of its caller, and exists only for callers with a rule that selects it', async t => {
  const credentials = {
    secret: (name: string) => (name === 'callers' ? { red: RED, blue: BLUE } : undefined),
  }
  const red = { ...rule('red', 'vermilion'), scripts: ['look'] }
  const access = { ...OPEN_ACCESS, auth: TOKENS, rules: [red, rule('blue', 'cobalt')] }
  const scripts = [
    script('look', 'return tools.cobalt.cobalt_get({})'),
    script('other', 'return tools.vermilion.vermilion_get({})'),
  ]
  const gateway = await startScriptGateway(t, SERVERS, {}, { access, scripts }, { credentials })
  const own = await call(gateway, 'scripts:look', {}, { token: RED })
  assert.match(textOf(own), /There is no server "cobalt"/)
  for (const [name, token] of [
    ['scripts:look', BLUE],
    ['scripts:other', RED],
  ] as const) {
    const hidden = await call(gateway, name, {}, { token })
    assert.equal(hidden.isError, true)
    assert.match(textOf(hidden), /There is no (tool|server)/)
  }
  assert.deepEqual(gateway.sent, [])
})

test('a sidecar gets the scripts, but not the server of tools that its own router makes of them', async t => {
  const scripts = [SUM, script('other', 'return 1')]
  const gateway = await startScriptGateway(t, { numbers: NUMBERS }, {}, { scripts })
  const catalog = gateway.router.catalog()
  assert.ok(catalog)
  const { config, catalogs } = podCatalog(catalog)
  assert.deepEqual(
    config.scripts?.map(({ name }) => name),
    ['sum-of-squares', 'other'],
  )
  assert.deepEqual(
    config.servers.map(({ name }) => name),
    ['numbers'],
  )
  assert.deepEqual([...catalogs.keys()], ['numbers'])
})

test('the report on a rule counts only the scripts that it selects', async t => {
  const scripts = [SUM, script('other', 'return 1')]
  const gateway = await startScriptGateway(t, {}, {}, { scripts })
  const catalog = gateway.router.catalog()
  assert.ok(catalog)
  const { config, catalogs } = catalog
  const reportOf = (changes: Partial<AccessRule>) => {
    const rules = [rule('some', '', { subjects: [], servers: [], scripts: ['other'], ...changes })]
    return reportAccess({ ...config, access: { ...OPEN_ACCESS, rules }, catalogs })
  }
  assert.deepEqual(reportOf({}), { rules: [{ name: 'some', servers: 1, tools: 1 }], findings: [] })
  const { findings } = reportOf({ tools: { allow: [SUM.name], deny: [], readOnly: false } })
  assert.match(findings[0]?.message ?? '', /no rule grants any tool of scripts: nobody/)
})

test('a script of an agent may call reviewed scripts, which run one after another; reviewed scripts call no scripts', async t => {
  const scripts = [
    SUM,
    script('again', 'return tools.scripts["sum-of-squares"]({ upTo: 1 })'),
    script('large', 'return "x".repeat(100_000)'),
  ]
  const gateway = await startScriptGateway(
    t,
    { numbers: NUMBERS },
    { limits: { scriptsPerClient: 2 } },
    { scripts },
  )
  const sums = await gateway.value(
    'return Promise.all([1, 2, 3].map(upTo => tools.scripts.sum_of_squares({ upTo })))',
  )
  assert.deepEqual(sums, [{ sum: 1 }, { sum: 5 }, { sum: 14 }])
  assert.equal(await gateway.value('return (await tools.scripts.large({})).length'), 100_000)
  assert.match(textOf(await call(gateway, 'scripts:again')), /reviewed scripts may not call other scripts/)
  assert.match(
    JSON.stringify(await gateway.value('return discover("add squares of numbers")')),
    /sum-of-squares/,
  )
})

test('scripts call no destructive tool if the caller cannot be asked, and readOnly scripts only tools that are known to only read', async t => {
  const scripts = [
    script('wipe', 'return tools.numbers.drop({})'),
    script('careful', 'return tools.numbers.square({ of: 2 })', { readOnly: true }),
  ]
  const gateway = await startScriptGateway(t, { numbers: NUMBERS }, {}, { scripts })
  assert.match(textOf(await call(gateway, 'scripts:wipe')), /can destroy something/)
  assert.match(textOf(await call(gateway, 'scripts:careful')), /not known to only read/)
  assert.deepEqual(gateway.sent, [])
  const listed = await listOf(new URL('/mcp/direct', gateway.router.url))
  const annotations = (name: string) => listed.find(tool => tool.name === `scripts__${name}`)?.annotations
  assert.deepEqual([annotations('wipe'), annotations('careful')], [undefined, { readOnlyHint: true }])
})

test('with code.tools.readOnly no script writes, and run_mcp_script says that it only reads', async t => {
  const tools = { allow: ['*'], deny: [], readOnly: true }
  const gateway = await startScriptGateway(t, { numbers: NUMBERS }, { tools })
  for (const profile of ['hierarchical', 'search', 'registry', 'direct', 'code']) {
    const listed = await listOf(new URL(`/mcp/${profile}`, gateway.router.url))
    const hints = listed.filter(({ name }) => /run/.test(String(name))).map(({ annotations }) => annotations)
    assert.deepEqual(hints, [{ readOnlyHint: true }], profile)
  }
  const { content } = await gateway.run('return tools.numbers.square({ of: 2 })')
  assert.match(content[0]?.text ?? '', /not known to only read/)
})

test('the audit stream records each run of a script with its calls, and the script that called it', async t => {
  const lines: JsonObject[] = []
  const auditStream = () =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        for (const line of String(chunk).trim().split('\n')) lines.push(JSON.parse(line) as JsonObject)
        done()
      },
    })
  const audit = {
    events: ['Calls' as const],
    arguments: 'Full' as const,
    sink: 'Stdout' as const,
    onOverflow: 'Drop' as const,
  }
  const access = { ...OPEN_ACCESS, audit }
  const gateway = await startScriptGateway(
    t,
    { numbers: NUMBERS },
    {},
    { access, scripts: [SUM] },
    { auditStream },
  )
  await call(gateway, 'scripts:sum-of-squares', { upTo: 2 })
  await gateway.run('return tools.scripts.sum_of_squares({ upTo: 1 })')
  await gateway.router.close(0)
  const target = { server: 'scripts', tool: 'sum-of-squares' }
  const [own, inner, outer] = lines.filter(({ method }) => method === 'script')
  assert.deepEqual([own?.target, own?.parent], [target, undefined])
  assert.deepEqual([inner?.target, inner?.parent], [target, outer?.script])
  const calls = lines.filter(({ method }) => method === 'tools/call')
  assert.equal(calls.filter(({ script }) => script === own?.script).length, 2)
  assert.deepEqual(
    calls.filter(({ target }) => isObject(target) && target.server === 'scripts').map(({ script }) => script),
    [undefined, outer?.script],
  )
})

async function listOf(url: URL): Promise<JsonObject[]> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
  })
  const { result } = (await response.json()) as { result: { tools: JsonObject[] } }
  return result.tools
}
