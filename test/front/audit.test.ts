/** Audit lines record who did what: over HTTP, against a running router. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Span, Tracer } from '../../core/trace.ts'
import { BLUE, initialize, PROFILES, RED, rule, send, start, TOKENS } from './access-router.ts'
import { audited, call, denials, execute } from './audit-router.ts'

test('a call has a line that says when, where, who, what, and how it ended', async t => {
  const { origin, lines } = await audited(t)
  const answer = await send(origin, execute('vermilion:vermilion_get', { vermilionId: 'secret words' }), {
    token: RED,
    headers: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
  })
  assert.equal(answer.status, 200)
  const [login, line, ...others] = await lines()
  assert.deepEqual(others, [])
  assert.deepEqual(
    [login?.event, login?.decision, login?.caller?.id, login?.address],
    ['login', 'allowed', 'token:red', '127.0.0.1'],
  )
  const { id, ms, bytes, policy, ...rest } = line ?? {}
  assert.deepEqual(rest, {
    stream: 'audit',
    v: 1,
    time: '2027-01-15T08:00:00.000Z',
    gateway: 'tools',
    event: 'call',
    method: 'tools/call',
    decision: 'allowed',
    rule: 'red',
    caller: { id: 'token:red', subject: 'red', name: 'red', kind: 'token' },
    address: '127.0.0.1',
    trace: '0af7651916cd43dd8448eb211c80319c',
    target: { server: 'vermilion', tool: 'vermilion_get' },
    outcome: 'ok',
    credential: { kind: 'token' },
  })
  assert.match(`${id} ${policy}`, /^[0-9a-f-]{36} [0-9a-f]{16}$/)
  assert.ok(Number(ms) >= 0 && Number(bytes) > 50, JSON.stringify(line))
})

test('only the configured events are recorded', async t => {
  for (const [events, expected] of [
    [['Calls'], ['call']],
    [['Denials'], ['denial', 'login']],
    [['Logins'], ['login', 'login']],
    [
      ['Calls', 'Denials'],
      ['call', 'denial', 'login'],
    ],
  ] as const) {
    const { origin, lines } = await audited(t, { events: [...events] })
    await send(origin, execute('vermilion:vermilion_get'), { token: RED })
    await send(origin, execute('cobalt:cobalt_get'), { token: RED })
    await send(origin, initialize, { token: 'x'.repeat(40) })
    const found = await lines()
    assert.deepEqual(found.map(({ event }) => event).sort(), [...expected].sort(), events.join())
  }
})

test('as much of the arguments is recorded as the config says', async t => {
  const args = { vermilionId: 'a'.repeat(500), apiKey: 'hidden words' }
  const seen: unknown[] = []
  for (const how of ['None', 'Names', 'Digest', 'Redacted', 'Full'] as const) {
    const { origin, lines, sink } = await audited(t, { arguments: how, events: ['Calls'] })
    await send(origin, execute('vermilion:vermilion_get', args), { token: RED })
    const [line] = await lines()
    seen.push(line?.arguments)
    assert.equal(sink.text().includes('hidden words'), how === 'Full', how)
  }
  const [none, names, digest, redacted, full] = seen
  assert.deepEqual([none, names, full], [undefined, ['apiKey', 'vermilionId'], args])
  assert.match(String(digest), /^sha256:[0-9a-f]{64}$/)
  const { apiKey, vermilionId } = redacted as typeof args
  assert.equal(apiKey, '[redacted]')
  assert.ok(vermilionId.length <= 201)
})

test('arguments that are too long are not recorded in full', async t => {
  const { origin, lines } = await audited(t, { arguments: 'Full', events: ['Calls'] })
  await send(origin, execute('vermilion:vermilion_get', { vermilionId: 'a'.repeat(20_000) }), { token: RED })
  const [line] = await lines()
  assert.deepEqual(line?.arguments, { tooLong: 20_018 })
})

test('a search has a line, with its text only if arguments are recorded', async t => {
  for (const how of ['None', 'Full'] as const) {
    const { origin, lines } = await audited(t, { arguments: how, events: ['Calls'] })
    await send(origin, call('discover_mcp_tools', { query: 'get things' }), { token: RED })
    const [line] = await lines()
    assert.deepEqual([line?.method, line?.decision], ['search', 'allowed'])
    assert.deepEqual(line?.arguments, how === 'Full' ? { query: 'get things' } : undefined)
  }
})

test('every denial has a line that names what was denied', async t => {
  for (const attempt of denials('cobalt')) {
    const { origin, lines } = await audited(t, { events: ['Denials'] })
    const { status, text } = await send(origin, attempt.request, { path: attempt.path, token: RED })
    const found = await lines()
    const about = `${JSON.stringify(attempt)}: ${status} ${text}`
    assert.deepEqual(
      found.map(({ event, decision, reason, caller, target }) => [
        event,
        decision,
        reason,
        caller?.id,
        target,
      ]),
      [['denial', 'denied', 'NotGranted', 'token:red', attempt.target]],
      about,
    )
  }
})

test("a denial at a server's own endpoint has a line", async t => {
  const rules = [
    rule('red', 'vermilion', {
      tools: { allow: ['*'], deny: ['*_delete'], readOnly: false },
      resources: { allow: ['file:///vermilion/one'], deny: [] },
      prompts: { allow: [], deny: [] },
    }),
  ]
  const server = 'vermilion'
  for (const [request, target] of [
    [call('vermilion_delete'), { server, tool: 'vermilion_delete' }],
    [
      { method: 'prompts/get', params: { name: 'vermilion_prompt' } },
      { server, prompt: 'vermilion_prompt' },
    ],
    [
      { method: 'resources/read', params: { uri: 'file:///vermilion/two?token=abc#part' } },
      { server, uri: 'file:///vermilion/two' },
    ],
  ] as const) {
    const { origin, lines } = await audited(t, { events: ['Denials'] }, { rules })
    await send(origin, request, { path: '/servers/vermilion/mcp', token: RED })
    assert.deepEqual(
      (await lines()).map(line => [line.decision, line.target]),
      [['denied', target]],
    )
  }
})

test('a call of what does not exist for anybody is recorded as a call, not as a denial', async t => {
  const { origin, lines } = await audited(t, { events: ['Calls', 'Denials'] })
  for (const path of ['vermilion:nothing', 'nowhere:nothing', 'nothing'])
    await send(origin, execute(path), { token: RED })
  const found = await lines()
  assert.deepEqual(
    found.map(({ decision, reason, outcome }) => [decision, reason, outcome]),
    Array(3).fill(['allowed', 'NotFound', 'rejected']),
  )
})

test('each failed login has a line with its reason, a successful one only the first time', async t => {
  const { origin, lines } = await audited(t, { events: ['Logins'] })
  const list = { method: 'tools/list', params: {} }
  await send(origin, list)
  await send(origin, list, { token: 'unknown'.repeat(6) })
  await send(origin, list, { headers: { authorization: 'Basic abc' } })
  for (let time = 0; time < 3; time++) await send(origin, list, { token: RED })
  await send(origin, list, { token: BLUE })
  assert.deepEqual(
    (await lines()).map(({ decision, reason, caller, credential }) => [
      decision,
      reason ?? caller?.id,
      credential,
    ]),
    [
      ['unauthenticated', 'NoToken', { kind: 'none' }],
      ['unauthenticated', 'UnknownToken', { kind: 'unknown' }],
      ['unauthenticated', 'MalformedHeader', { kind: 'unknown' }],
      ['allowed', 'token:red', { kind: 'token' }],
      ['allowed', 'token:blue', { kind: 'token' }],
    ],
  )
})

test('requests and calls over a limit have a line', async t => {
  const limit = { everyMs: 60_000, burst: 1, limit: 1, per: 'Caller' } as const
  const rateLimits = [
    { ...limit, counts: 'calls' as const },
    { ...limit, counts: 'requests' as const, burst: 2 },
  ]
  const { origin, lines } = await audited(t, { events: ['Denials'] }, { rateLimits })
  for (let time = 0; time < 3; time++) await send(origin, execute('vermilion:vermilion_get'), { token: RED })
  assert.deepEqual(
    (await lines()).map(({ decision, reason, rule, target }) => [decision, reason, rule, target]),
    [
      ['limited', 'CallLimit', '1 calls a minute', { server: 'vermilion', tool: 'vermilion_get' }],
      ['limited', 'RequestLimit', '1 requests a minute', undefined],
    ],
  )
})

test('equal denials are merged after ten in a second', async t => {
  const { origin, lines, clock } = await audited(t, { events: ['Denials'] })
  const deny = (tool: string) => send(origin, execute(`cobalt:cobalt_${tool}`), { token: RED })
  for (let time = 0; time < 25; time++) await deny('get')
  await deny('list')
  clock.advance(1_000)
  await deny('get')
  const found = (await lines()).map(({ target, count }) => `${target?.tool} ${count ?? 1}`)
  assert.deepEqual(found, [
    ...Array(10).fill('cobalt_get 1'),
    'cobalt_list 1',
    'cobalt_get 15',
    'cobalt_get 1',
  ])
})

test('decisions are counted by rule and reason, never by user', async t => {
  const { origin, router } = await audited(t, { events: [] })
  await send(origin, execute('vermilion:vermilion_get'), { token: RED })
  await send(origin, execute('cobalt:cobalt_get'), { token: RED })
  await send(origin, initialize, { token: 'x'.repeat(40) })
  const text = await router.metrics.registry.getSingleMetricAsString('portolan_access_decisions_total')
  assert.deepEqual(text.match(/^portolan_.*$/gm), [
    'portolan_access_decisions_total{decision="allowed",rule="red",reason=""} 1',
    'portolan_access_decisions_total{decision="denied",rule="",reason="NotGranted"} 1',
    'portolan_access_decisions_total{decision="unauthenticated",rule="",reason="UnknownToken"} 1',
  ])
})

test('too many failed logins of an address are answered 429, and a valid credential is still admitted', async t => {
  const { origin, clock } = await audited(t)
  const fail = () => send(origin, initialize, { token: 'x'.repeat(40) })
  for (let time = 0; time < 20; time++) assert.equal((await fail()).status, 401)
  const limited = await fail()
  assert.deepEqual([limited.status, limited.headers.get('retry-after')], [429, '3'])
  assert.match(limited.text, /20 failed logins a minute/)
  assert.equal((await send(origin, initialize)).status, 401)
  assert.equal((await send(origin, initialize, { token: RED })).status, 200)
  clock.advance(3_000)
  assert.equal((await fail()).status, 401)
  assert.equal((await fail()).status, 429)
})

test('all profiles record calls in the same way', async t => {
  const { origin, lines } = await audited(t, { events: ['Calls'] })
  const path = 'vermilion:vermilion_get'
  const calls = [
    execute(path),
    call('mcp_execute_tool', { toolName: path }),
    call('execute', { tool: path }),
    call('vermilion__vermilion_get'),
  ]
  for (const [at, profile] of PROFILES.entries())
    await send(origin, calls[at] as object, { path: `/mcp/${profile}`, token: RED })
  await send(origin, call('vermilion_get'), { path: '/servers/vermilion/mcp', token: RED })
  assert.deepEqual(
    (await lines()).map(({ target, rule }) => [target, rule]),
    Array(5).fill([{ server: 'vermilion', tool: 'vermilion_get' }, 'red']),
  )
})

test('the span of a call names a caller with a credential, and no other', async t => {
  const seen: unknown[] = []
  const span: Span = {
    begin: () => span,
    context: () => ({ traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }),
    rename() {},
    set() {},
    end() {},
  }
  const begin: Tracer['begin'] = ({ attributes }) => {
    seen.push(attributes?.['enduser.id'])
    return span
  }
  const auth = { ...TOKENS, anonymous: true }
  const { origin } = await start(t, { auth }, {}, undefined, undefined, { tracer: { begin } })
  await send(origin, execute('vermilion:vermilion_get'), { token: RED })
  await send(origin, execute('vermilion:vermilion_get'))
  assert.deepEqual(seen, ['token:red', undefined])
})

test('a challenge for scopes is recorded as a denial that names what was requested', async t => {
  const challenging = rule('red', 'vermilion', { scopes: ['write'], challenge: true })
  const uri = 'file:///vermilion/one'
  const server = 'vermilion'
  for (const [request, target] of [
    [execute('vermilion:vermilion_get'), { server, tool: 'vermilion_get' }],
    [execute('vermilion:vermilion_prompt'), { server, prompt: 'vermilion_prompt' }],
    [call('read_mcp_resource', { uri: `vermilion|${uri}` }), { server, uri }],
  ] as const) {
    const { origin, lines } = await audited(t, { events: ['Denials'] }, { rules: [challenging] })
    assert.equal((await send(origin, request, { token: RED })).status, 403)
    assert.deepEqual(
      (await lines()).map(line => [line.decision, line.reason, line.target]),
      [['denied', 'InsufficientScope', target]],
    )
  }
})
