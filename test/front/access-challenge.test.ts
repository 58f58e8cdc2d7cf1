/** Rules that challenge: what they grant is visible, and using it asks for scopes. Over HTTP, against a running router. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { type Claims, withIssuer } from './access-issuer.ts'
import { initialize, modernised, rule, SERVERS, send } from './access-router.ts'

const GROUP = { subjects: [{ kind: 'Group', name: 'dev', issuer: 'own' } as const] }
const RULES = [
  rule('read', 'vermilion', {
    ...GROUP,
    tools: { allow: ['*_get'], deny: [], readOnly: false },
    resources: { allow: [], deny: [] },
    prompts: { allow: [], deny: [] },
    scopes: ['read'],
  }),
  rule('most', 'vermilion', { ...GROUP, scopes: ['write', 'admin'], challenge: true }),
  rule('write', 'vermilion', {
    ...GROUP,
    tools: { allow: ['*_delete'], deny: [], readOnly: false },
    scopes: ['write'],
    challenge: true,
  }),
  rule('other', 'cobalt', { ...GROUP, scopes: ['cobalt'] }),
]
const TOOL = 'vermilion:vermilion_delete'
const OWN_ROUTE = '/servers/vermilion/mcp'
const metadata = (path: string) => `https://mcp.example.com/.well-known/oauth-protected-resource${path}`

const nameOf = (reached: { call: { params?: JsonObject } } | undefined) => reached?.call.params?.name

/** Each way to one tool. */
const CALLS: [path: string, params: JsonObject][] = [
  ['/mcp', { name: 'execute_mcp_tool', arguments: { tool_path: TOOL, arguments: {} } }],
  ['/mcp', { name: TOOL, arguments: {} }],
  ['/mcp/search', { name: 'mcp_execute_tool', arguments: { toolName: TOOL, args: {} } }],
  ['/mcp/registry', { name: 'execute', arguments: { tool: TOOL, args: {} } }],
  ['/mcp/direct', { name: 'vermilion__vermilion_delete', arguments: {} }],
  [OWN_ROUTE, { name: 'vermilion_delete', arguments: {} }],
]

async function challenging(t: Parameters<typeof withIssuer>[0], anonymous = false) {
  const issued = await withIssuer(t, { requiredScopes: ['mcp'] }, { rules: RULES })
  const { sign, origin, auth, config, change } = issued
  if (anonymous)
    await change(
      { ...config, auth: { ...auth, anonymous }, rules: RULES.map(one => ({ ...one, subjects: [] })) },
      2,
    )
  const tokenOf = (scope: string, more: Claims = {}) => sign({ groups: ['dev'], scope, ...more })
  const ask = async (path: string, method: string, params: JsonObject, token?: string, era = '2025') => {
    const { message, headers } =
      era === '2026' ? modernised({ method, params }) : { message: { method, params }, headers: {} }
    return send(origin, message, { path, token, headers })
  }
  return { ...issued, tokenOf, ask }
}

test('in every profile and era, a call without the scopes gets a 403 that names all of them; one with them passes', async t => {
  const { tokenOf, ask, reached } = await challenging(t)
  const [less, enough] = [await tokenOf('mcp read'), await tokenOf('mcp write')]
  const listed = await ask('/mcp/direct', 'tools/list', {}, less)
  assert.match(listed.text, /vermilion__vermilion_delete/)
  for (const era of ['2025', '2026'])
    for (const [path, params] of CALLS) {
      const { status, headers, text } = await ask(path, 'tools/call', params, less, era)
      assert.equal(status, 403, `${path} ${text}`)
      assert.equal(
        headers.get('www-authenticate'),
        `Bearer error="insufficient_scope", error_description="The token lacks scopes.", resource_metadata="${metadata(path)}", scope="mcp read write"`,
      )
      assert.equal(JSON.parse(text).error.data.reason, 'insufficient_scope')
      assert.deepEqual(reached, [])
      const passed = await ask(path, 'tools/call', params, enough, era)
      assert.equal(passed.status, 200, passed.text)
      assert.equal(nameOf(reached.pop()), 'vermilion_delete')
    }
  const granted = await ask(OWN_ROUTE, 'tools/call', { name: 'vermilion_get', arguments: {} }, less)
  assert.equal(granted.status, 200)
  const hidden = await ask('/mcp', 'tools/call', { name: 'cobalt:cobalt_get', arguments: {} }, less)
  assert.deepEqual([hidden.status, hidden.headers.get('www-authenticate')], [200, null])
})

test('resources, prompts and completions are challenged as calls are', async t => {
  const offers = { ...SERVERS.vermilion?.offers, capabilities: { resources: { subscribe: true } } }
  const { tokenOf, ask, reached, change, config } = await challenging(t)
  await change({ ...config, rules: RULES }, 3, { vermilion: { ...SERVERS.vermilion, offers } })
  const token = await tokenOf('mcp read')
  const uri = 'vermilion|file:///vermilion/one'
  const asked: [string, string, JsonObject][] = [
    ['/mcp', 'resources/read', { uri }],
    ['/mcp', 'prompts/get', { name: 'vermilion__vermilion_prompt' }],
    ['/mcp', 'tools/call', { name: 'read_mcp_resource', arguments: { uri } }],
    ['/mcp', 'tools/call', { name: 'execute_mcp_tool', arguments: { tool_path: uri } }],
    [
      '/mcp',
      'tools/call',
      { name: 'execute_mcp_tool', arguments: { tool_path: 'vermilion:vermilion_prompt' } },
    ],
    [
      '/mcp',
      'completion/complete',
      { ref: { type: 'ref/resource', uri }, argument: { name: 'a', value: '' } },
    ],
    [OWN_ROUTE, 'resources/read', { uri: 'file:///vermilion/one' }],
    [OWN_ROUTE, 'prompts/get', { name: 'vermilion_prompt' }],
    [
      OWN_ROUTE,
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'vermilion_prompt' }, argument: { name: 'a', value: '' } },
    ],
  ]
  for (const [path, method, params] of asked)
    for (const era of ['2025', '2026']) {
      const { status, headers, text } = await ask(path, method, params, token, era)
      assert.equal(status, 403, `${path} ${method} ${JSON.stringify(params)}: ${text}`)
      assert.match(headers.get('www-authenticate') ?? '', /scope="mcp read write( admin)?"/)
    }
  assert.deepEqual(reached, [])
})

test('a caller without a token gets a 401 if it calls a tool that it may only see', async t => {
  const { ask, reached } = await challenging(t, true)
  const [path, params] = CALLS[4] as [string, JsonObject]
  assert.match((await ask('/mcp/direct', 'tools/list', {})).text, /vermilion_delete/)
  const { status, headers } = await ask(path, 'tools/call', params)
  assert.equal(status, 401)
  assert.equal(headers.get('www-authenticate'), `Bearer resource_metadata="${metadata(path)}", scope="write"`)
  assert.deepEqual(reached, [])
})

test('in a batch the challenge is the error of one message, and the others are answered', async t => {
  const { tokenOf, origin } = await challenging(t)
  const token = await tokenOf('mcp read')
  const call = (id: number, name: string) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: {} },
  })
  const response = await fetch(`${origin}${OWN_ROUTE}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${token}`,
      'mcp-protocol-version': '2025-03-26',
    },
    body: JSON.stringify([call(1, 'vermilion_get'), call(2, 'vermilion_delete')]),
  })
  const [one, other] = (await response.json()) as JsonObject[]
  assert.ok(one?.result)
  assert.match(JSON.stringify(other?.error), /insufficient_scope.*\["mcp","read","write"\]/)
})

test('a subscription is challenged like a read, and does not start', async t => {
  const offers = { ...SERVERS.vermilion?.offers, capabilities: { resources: { subscribe: true } } }
  const servers = { vermilion: { ...SERVERS.vermilion, offers } }
  for (const anonymous of [false, true]) {
    const { tokenOf, ask, reached, change, config, auth, origin } = await challenging(t, anonymous)
    const rules = anonymous ? RULES.map(one => ({ ...one, subjects: [] })) : RULES
    await change({ ...config, auth: { ...auth, anonymous }, rules }, 3, servers)
    const token = anonymous ? undefined : await tokenOf('mcp read')
    const begun = await send(origin, initialize, { token })
    const headers = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
    for (const [path, uri] of [
      ['/mcp', 'vermilion|file:///vermilion/one'],
      ['/mcp/direct', 'vermilion+file:///vermilion/one'],
      [OWN_ROUTE, 'file:///vermilion/one'],
    ] as const) {
      const request = { method: 'resources/subscribe', params: { uri } }
      const refused = await send(origin, request, { path, token, headers })
      assert.equal(refused.status, anonymous ? 401 : 403, refused.text)
      const challenge = refused.headers.get('www-authenticate') ?? ''
      assert.ok(challenge.includes(`resource_metadata="${metadata(path)}"`), challenge)
      assert.match(challenge, anonymous ? /^Bearer resource_metadata/ : /error="insufficient_scope".*write/)
      const notifications = { resourceSubscriptions: [uri] }
      const { text } = await ask(path, 'subscriptions/listen', { notifications }, token, '2026')
      assert.match(text, /subscriptions\/acknowledged/)
      assert.doesNotMatch(text, /resourceSubscriptions/)
    }
    assert.deepEqual(reached, [])
  }
})
