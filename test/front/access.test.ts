/** Access over HTTP against a running router: what a caller may use, and what of one caller is hidden from the others. */
import assert from 'node:assert/strict'
import { type IncomingHttpHeaders, request } from 'node:http'
import { test } from 'node:test'
import { until } from '../support/until.ts'
import { BLUE, initialize, RED, rule, send, start } from './access-router.ts'

test('a tool that a caller may not use is answered like one that does not exist', async t => {
  const { origin } = await start(t, { rules: [rule('red', 'vermilion'), rule('blue', 'cobalt')] })
  const answerTo = async (path: string) => {
    const request = {
      method: 'tools/call',
      params: { name: 'execute_mcp_tool', arguments: { tool_path: path, arguments: {} } },
    }
    const { text, status } = await send(origin, request, { token: RED })
    return [status, text.replaceAll(path.split(':')[0] ?? '', 'SERVER')]
  }
  assert.deepEqual(await answerTo('cobalt:some_tool'), await answerTo('cybalt:some_tool'))
  const hidden = await send(origin, initialize, { path: '/servers/cobalt/mcp', token: RED })
  const missing = await send(origin, initialize, { path: '/servers/cybalt/mcp', token: RED })
  assert.deepEqual([hidden.status, hidden.text], [missing.status, missing.text])
})

test('a missing token, an unknown token and a malformed header are refused, and a named token is admitted', async t => {
  const { origin } = await start(t, {})
  const list = { method: 'tools/list', params: {} }
  assert.equal((await send(origin, list)).status, 401)
  assert.equal((await send(origin, list)).headers.get('www-authenticate'), 'Bearer')
  const unknown = await send(origin, list, { token: 'x'.repeat(40) })
  assert.equal(unknown.status, 401)
  assert.match(unknown.headers.get('www-authenticate') ?? '', /^Bearer error="invalid_token"/)
  for (const authorization of [
    'Basic abc',
    'Bearer',
    `Bearer ${RED} ${BLUE}`,
    `Bearer ${RED}, Bearer ${BLUE}`,
    'Bearer \u00e9',
  ])
    assert.equal((await send(origin, list, { headers: { authorization } })).status, 400, authorization)
  assert.equal((await send(origin, list, { token: RED })).status, 200)
  assert.equal((await send(origin, list, { path: `/mcp?access_token=${RED}` })).status, 401)
  assert.equal((await fetch(`${origin}/.well-known/oauth-protected-resource`)).status, 404)
})

test('a session of one caller is unknown to another', async t => {
  const { origin } = await start(t, {})
  const begun = await send(origin, initialize, { token: RED })
  const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
  const list = { method: 'tools/list', params: {} }
  assert.equal((await send(origin, list, { token: RED, headers: session })).status, 200)
  const foreign = await send(origin, list, { token: BLUE, headers: session })
  const unknown = await send(origin, list, { token: BLUE, headers: { 'mcp-session-id': 'local.x.y.z' } })
  assert.deepEqual([foreign.status, foreign.text], [unknown.status, unknown.text])
  assert.equal(foreign.status, 404)
  const ended = await fetch(`${origin}/mcp`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${BLUE}`, ...session },
  })
  assert.equal(ended.status, 404)
  assert.equal((await send(origin, list, { token: RED, headers: session })).status, 200)
})

test('an answer that a server marks as public is private to its caller', async t => {
  const contents = [{ uri: 'file:///vermilion/one', text: 'one' }]
  const cached = { contents, ttlMs: 60_000, cacheScope: 'public' }
  const { origin } = await start(t, {}, {}, async () => ({ result: cached }))
  const uri = 'vermilion|file:///vermilion/one'
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'resources/read', 'mcp-name': uri }
  const read = { method: 'resources/read', params: { uri, _meta: meta } }
  const { text, status } = await send(origin, read, { token: RED, headers })
  assert.equal(status, 200, text)
  const { result } = JSON.parse(text)
  assert.deepEqual([result.cacheScope, result.ttlMs], ['private', 60_000])
})

test('a changed rule applies from the next request, without a new session', async t => {
  const { origin, publish, router } = await start(t, { rules: [rule('red', 'vermilion')] })
  const names = async () =>
    (await send(origin, { method: 'tools/list', params: {} }, { path: '/mcp/direct', token: RED })).text
  assert.match(await names(), /vermilion__vermilion_delete/)
  publish(
    { rules: [rule('red', 'vermilion', { tools: { allow: ['*'], deny: ['*_delete'], readOnly: false } })] },
    2,
  )
  await until(() => router.catalog()?.generation === 2)
  assert.doesNotMatch(await names(), /vermilion_delete/)
  assert.match(await names(), /vermilion_get/)
})

test('requests over a limit are refused before their body is read; the error of a call over one says when to retry', async t => {
  const limit = { everyMs: 60_000, burst: 1, limit: 1 } as const
  const requests = { ...limit, per: 'Caller', counts: 'requests' } as const
  const { origin, clock, publish, router } = await start(t, { rateLimits: [requests] })
  const ping = { method: 'ping' }
  assert.equal((await send(origin, ping, { token: RED })).status, 200)
  const { status, headers } = await refusedEarly(origin, RED)
  assert.deepEqual([status, headers['retry-after']], [429, '60'])
  assert.equal((await send(origin, ping, { token: BLUE })).status, 200)
  clock.advance(60_000)
  assert.equal((await send(origin, ping, { token: RED })).status, 200)
  publish({ rateLimits: [{ ...limit, per: 'Caller', counts: 'calls', tools: ['*_get'] }] }, 2)
  await until(() => router.catalog()?.generation === 2)
  const paths = ['/mcp', '/mcp/search', '/mcp/registry', '/mcp/direct', '/servers/vermilion/mcp']
  const names = [
    'execute_mcp_tool',
    'mcp_execute_tool',
    'execute',
    'vermilion__vermilion_get',
    'vermilion_get',
  ]
  const answers = []
  for (const [at, path] of paths.entries()) {
    const toolPath = 'vermilion:vermilion_get'
    const args =
      [{ tool_path: toolPath, arguments: {} }, { toolName: toolPath }, { tool: toolPath }][at] ?? {}
    answers.push(
      await send(
        origin,
        { method: 'tools/call', params: { name: names[at], arguments: args } },
        { path, token: RED },
      ),
    )
  }
  const [first, ...others] = answers
  assert.doesNotMatch(first?.text ?? '', /limit of/)
  for (const [at, { text }] of others.entries())
    assert.match(text, /The limit of 1 calls a minute is reached; again in 60 s/, paths[at + 1])
})

/** Sends the head of a POST and only a part of its body, and waits for the answer. */
function refusedEarly(
  origin: string,
  token: string,
): Promise<{ status?: number; headers: IncomingHttpHeaders }> {
  return new Promise((resolve, reject) => {
    const sent = request(`${origin}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': 1_000_000,
      },
    })
    sent.on('response', ({ statusCode, headers }) => {
      resolve({ status: statusCode, headers })
      sent.destroy()
    })
    sent.on('error', reject)
    sent.write('{"jsonrpc":')
  })
}

test('each message of a batch counts as a request, up to the longest batch that is served', async t => {
  const rateLimits = [{ per: 'Caller', counts: 'requests', limit: 60, everyMs: 60_000, burst: 60 } as const]
  const { origin, clock } = await start(t, { rateLimits })
  const batch = async (count: number) => {
    const messages = Array.from({ length: count }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }))
    const response = await fetch(`${origin}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-03-26',
        authorization: `Bearer ${RED}`,
      },
      body: ` ${JSON.stringify(messages)}`,
    })
    return [response.status, Number(response.headers.get('retry-after'))]
  }
  assert.deepEqual(await batch(36), [200, 0])
  assert.deepEqual(await batch(24), [200, 0])
  assert.deepEqual(await batch(1), [429, 1])
  clock.advance(40_000)
  assert.deepEqual(await batch(50), [429, 1])
  clock.advance(60_000)
  assert.deepEqual(await batch(1_000), [400, 0])
  assert.deepEqual(await batch(10), [200, 0])
  assert.deepEqual(await batch(1), [429, 1])
})
