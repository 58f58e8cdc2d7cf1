/** Names that JavaScript objects have by themselves, wherever a request has names: over HTTP, against a running router. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Attempt, attempts } from './access-attempts.ts'
import { modernised, RED, rule, send, start } from './access-router.ts'

const BUILT_IN = ['__proto__', 'constructor', 'toString']
const RULES = { rules: [rule('red', 'vermilion'), rule('blue', 'cobalt')] }

/** Requests with the name of a property that every object has, wherever a request has names. */
function builtIn(name: string): Attempt[] {
  const own = `{"${name}": {"allowed": true}}`
  const call = (tool: string, args: unknown) => ({
    method: 'tools/call',
    params: { name: tool, arguments: args as never },
  })
  return [
    ...attempts(name),
    call('execute_mcp_tool', { tool_path: `vermilion:${name}`, arguments: {} }),
    call('execute_mcp_tool', JSON.parse(`{"tool_path": "cobalt:cobalt_get", "${name}": ${own}}`)),
    call('discover_mcp_tools', { operation: name, query: name, serverName: name }),
    call('activate', { tools: [name, `vermilion:${name}`] }),
    { method: name, params: {} },
    { method: 'tools/list', params: { cursor: name } },
    { method: 'prompts/get', params: { name: `vermilion:${name}` } },
    { method: 'logging/setLevel', params: { level: name } },
    {
      method: 'completion/complete',
      params: { ref: { type: name, name, uri: name }, argument: { name, value: name } },
    },
    { method: 'initialize', params: JSON.parse(`{"protocolVersion": "${name}", "capabilities": ${own}}`) },
  ]
}

for (const name of BUILT_IN)
  test(`the name ${name} in a request causes no internal error, admits nobody, and reaches no hidden server`, async t => {
    const { origin, reached } = await start(t, RULES)
    const paths = ['/mcp/hierarchical', '/mcp/direct', `/mcp/${name}`, `/servers/${name}/mcp`]
    for (const path of paths)
      for (const request of builtIn(name)) {
        const { message, headers } = modernised(request)
        const session = { 'mcp-session-id': name, 'mcp-protocol-version': '2025-11-25' }
        const answers = [
          await send(origin, request, { path, token: RED }),
          await send(origin, message, { path, token: RED, headers }),
          await send(origin, request, { path, token: RED, headers: session }),
          await send(origin, request, { path, token: name }),
        ]
        for (const { status, text } of answers) {
          assert.ok(status < 500, `${path} ${JSON.stringify(request)} ${status}`)
          assert.doesNotMatch(
            text,
            /native code|Internal error|TypeError/,
            `${path} ${JSON.stringify(request)}`,
          )
        }
        assert.equal(answers[3]?.status === 401 || answers[3]?.status === 429, true)
      }
    assert.deepEqual(
      reached.filter(({ server }) => server !== 'vermilion'),
      [],
    )
  })
