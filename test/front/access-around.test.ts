/** Ways around an access rule that do not name what it hides: over HTTP, against a running router. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import type { FixtureServer } from '../meta/fixture.ts'
import { BLUE, modernised, RED, rule, send, start } from './access-router.ts'

const GATEWAY = '/mcp'
const OWN_ROUTE = '/servers/vermilion/mcp'

test('a completion reaches the server only for a granted reference, whatever else it names', async t => {
  const { origin, reached } = await start(t, {
    rules: [
      rule('red', 'vermilion', {
        prompts: { allow: ['vermilion_prompt'], deny: [] },
        resources: { allow: ['file:///vermilion/*'], deny: [] },
      }),
    ],
  })
  const secret = { name: 'hidden_prompt', uri: 'file:///hidden/{name}' }
  const refs: JsonObject[] = [
    { type: 'ref/prompt', name: secret.name, uri: 'file:///vermilion/{name}' },
    { type: 'ref/prompt', name: secret.name, uri: 'vermilion|file:///vermilion/{name}' },
    { type: 'ref/resource', name: 'vermilion_prompt', uri: secret.uri },
    { type: 'ref/resource', name: 'vermilion__vermilion_prompt', uri: `vermilion|${secret.uri}` },
    { type: 'ref/prompt', name: secret.name, title: 'vermilion_prompt' },
    { type: 'ref/other', name: 'vermilion_prompt', uri: secret.uri },
  ]
  for (const path of [GATEWAY, OWN_ROUTE])
    for (const ref of refs)
      await send(
        origin,
        { method: 'completion/complete', params: { ref, argument: { name: 'name', value: '' } } },
        { path, token: RED },
      )
  assert.doesNotMatch(JSON.stringify(reached), /hidden/)
  const granted = { type: 'ref/prompt', name: 'vermilion_prompt' }
  const complete = { ref: granted, argument: { name: 'name', value: '' } }
  for (const path of [GATEWAY, OWN_ROUTE])
    await send(origin, { method: 'completion/complete', params: complete }, { path, token: RED })
  assert.equal(
    reached.filter(({ call }) => JSON.stringify(call.params?.ref) === JSON.stringify(granted)).length,
    2,
  )
})

test('a denied URI is denied in every spelling that a server may accept for it', async t => {
  const { origin, reached } = await start(t, {
    rules: [
      rule('red', 'vermilion', {
        resources: { allow: ['*'], deny: ['file:///secret/*', 'http://a.example/secret*'] },
      }),
    ],
  })
  const forms = [
    'file:///secret/one',
    'FILE:///secret/one',
    'file:///SECRET/one',
    'file:/secret/one',
    'file:secret/one',
    'file://localhost/secret/one',
    'file:////secret/one',
    'file:///secret//one',
    'file:///./secret/one',
    'file:///vermilion/../secret/one',
    'file:///vermilion/%2e%2e/secret/one',
    'file:///vermilion/%252e%252e/secret/one',
    'file:///vermilion/..;/secret/one',
    'file:///vermilion/..%2fsecret/one',
    'file:///vermilion/..\\secret/one',
    'file:///%73ecret/one',
    'file:///%2573ecret/one',
    'file:///secret%2fone',
    'file:///sec\tret/one',
    'file:///sec%0aret/one',
    'file:///secret/one%00.txt',
    'file:///ſecret/one',
    'file:///secret/one?x=1',
    'file:///secret/one#x',
    'http://A.example/secret',
    'http://a.example:80/secret',
    'http://user:word@a.example/secret',
    'http://a.example//secret',
    'http://a.example./secret',
    'http:/a.example/secret',
    'HTTP:a.example/secret',
    ' file:///secret/one',
  ]
  const asked: string[] = []
  for (const uri of forms)
    for (const [path, named] of [
      [GATEWAY, `vermilion|${uri}`],
      [GATEWAY, `vermilion+${uri}`],
      [OWN_ROUTE, uri],
    ] as const) {
      await send(origin, { method: 'resources/read', params: { uri: named } }, { path, token: RED })
      if (reached.length > 0) asked.push(`${path} ${named}`)
      reached.length = 0
    }
  assert.deepEqual(asked, [])
  for (const uri of ['file:///vermilion/one', 'file:///vermilion/secrets of%20state', 'note://Any/Case']) {
    await send(origin, { method: 'resources/read', params: { uri } }, { path: OWN_ROUTE, token: RED })
    assert.equal(reached.pop()?.call.params?.uri, uri)
  }
})

test('no spelling of a URI leads out of an allowed folder', async t => {
  const { origin, reached } = await start(t, {
    rules: [rule('red', 'vermilion', { resources: { allow: ['file:///docs/*'], deny: [] } })],
  })
  const forms = [
    'file:///docs/../secret',
    'file:///docs/%2e%2e/secret',
    'file:///docs/%2E./secret',
    'file:///docs/.%2e%2fsecret',
    'file:///docs/%252e%252e/secret',
    'file:///docs/%25252e%25252e/secret',
    'file:///docs/%2525252525252e%252525252e/secret',
    'file:///docs/..;a/secret',
    'file:///docs/..\\secret',
    'file:///docs/%c0%ae%c0%ae/secret',
    'file:///docs/%u002e%u002e/secret',
    'file:///docs/.\t./secret',
    'file:///docs/..',
    'file:///docs/．．/secret',
    'file:///docs',
    'FILE:///docs/one',
  ]
  for (const uri of forms)
    for (const [path, named] of [
      [GATEWAY, `vermilion|${uri}`],
      [OWN_ROUTE, uri],
    ] as const)
      for (const method of ['resources/read', 'resources/subscribe'])
        await send(origin, { method, params: { uri: named } }, { path, token: RED })
  assert.deepEqual(
    reached.map(({ call }) => call.params?.uri),
    [],
  )
  for (const uri of ['file:///docs/one', 'file:///docs/a..b/two%20words', 'file:///docs/...'])
    await send(origin, { method: 'resources/read', params: { uri } }, { path: OWN_ROUTE, token: RED })
  assert.equal(reached.length, 3)
})

test('headers that replicas or proxies send grant no access', async t => {
  const { origin } = await start(t, { rules: [rule('red', 'vermilion')] })
  const list = { method: 'tools/list', params: {} }
  const forged = {
    'portolan-forwarded': '1',
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-user': 'red',
    'x-remote-user': 'red',
    forwarded: 'for=127.0.0.1',
    'x-original-url': '/servers/cobalt/mcp',
    'x-http-method-override': 'GET',
  }
  for (const [name, value] of Object.entries(forged)) {
    const headers = { [name]: value }
    assert.equal((await send(origin, list, { headers })).status, 401, name)
    const other = await send(origin, list, { path: '/mcp/direct', token: RED, headers })
    assert.doesNotMatch(other.text, /cobalt/, name)
    const blue = await send(origin, list, { path: '/mcp/direct', token: BLUE, headers })
    assert.doesNotMatch(blue.text, /cobalt|vermilion/, name)
  }
  const claim = `Portolan-Replica ${Buffer.from('token:red').toString('base64url')}.zzzzzzzzz.AAAA`
  const answer = await send(origin, list, { headers: { authorization: claim } })
  assert.equal(answer.status, 400)
})

test('calls of tools reach no denied prompt or resource by any of its names', async t => {
  const { origin, reached } = await start(t, {
    rules: [
      rule('red', 'vermilion', {
        prompts: { allow: [], deny: [] },
        resources: { allow: [], deny: [] },
      }),
    ],
  })
  const names = ['vermilion:vermilion_prompt', 'vermilion__vermilion_prompt', 'vermilion_prompt']
  const uris = ['vermilion|file:///vermilion/one', 'ui://vermilion/page', 'file:///vermilion/one']
  for (const named of [...names, ...uris])
    for (const [path, name, args] of [
      ['/mcp/hierarchical', 'execute_mcp_tool', { tool_path: named, arguments: {} }],
      ['/mcp/search', 'mcp_execute_tool', { toolName: named, args: {} }],
      ['/mcp/registry', 'execute', { tool: named, args: {} }],
      ['/mcp/direct', named, {}],
      [OWN_ROUTE, named, {}],
    ] as const) {
      const call = { method: 'tools/call', params: { name, arguments: args } }
      await send(origin, call, { path, token: RED })
      const { message, headers } = modernised(call)
      await send(origin, message, { path, token: RED, headers })
    }
  assert.deepEqual(reached, [])
})

test('a server of which nothing is granted is answered like one that does not exist', async t => {
  const broken: FixtureServer = {
    server: { status: { state: 'failed', hidden: true, reason: 'CrashLooping' } as never },
    offers: { tools: [{ name: 'cobalt_get', inputSchema: { type: 'object' } }] },
  }
  const undiscovered: FixtureServer = {}
  for (const cobalt of [broken, undiscovered]) {
    const { origin } = await start(t, { rules: [rule('red', 'vermilion')] }, {}, undefined, { cobalt })
    const answer = async (name: string) => {
      const call = {
        method: 'tools/call',
        params: { name: 'execute_mcp_tool', arguments: { tool_path: `${name}:x`, arguments: {} } },
      }
      const { status, text } = await send(origin, call, { token: RED })
      const own = await send(origin, { method: 'tools/list' }, { path: `/servers/${name}/mcp`, token: RED })
      return [status, text, own.status, own.text].join(' ').replaceAll(name, 'NAME')
    }
    assert.equal(await answer('cobalt'), await answer('cybalt'))
  }
})
