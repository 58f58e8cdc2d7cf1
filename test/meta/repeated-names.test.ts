/** Arguments with a name twice: the schema check and the audit stream see one value, and a server's parser could take the other. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFixture, type Fixture, type FixtureServer, type RequestOptions } from './fixture.ts'

const SERVERS: Record<string, FixtureServer> = {
  files: {
    offers: {
      tools: [
        {
          name: 'read',
          inputSchema: { type: 'object', properties: { path: {}, options: { type: 'object' } } },
        },
      ],
    },
  },
}
const REPEATED = [
  '{"path":"/evil","path":"/good"}',
  '{"path":"/evil","p\\u0061th":"/good"}',
  '{"path":"/good","options":{"list":[{"as":"root","as":"nobody"}]}}',
]
const ONCE = '{"path":"a:\\"b\\"","options":{"path":1,"list":[{"path":1},{"path":2}]}}'

/** Calls a tool or meta-tool with arguments that are given as the caller wrote them. */
async function call(fixture: Fixture, name: string, written: string, more: RequestOptions = {}) {
  const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${written}}}`
  const sentBefore = fixture.sent.length
  const { isError, content } = await fixture.call(name, JSON.parse(written), { text, ...more })
  return { isError, text: content[0]?.text ?? '', sent: fixture.sent.slice(sentBefore) }
}

const wrapped = (args: string) => `{"tool_path":"files:read","arguments":${args}}`

test('arguments with a name twice are refused, at every depth and however they are given', async () => {
  const fixture = createFixture(SERVERS, { exposeServers: true })
  const ways: [string, (args: string) => string, RequestOptions?][] = [
    ['execute_mcp_tool', wrapped],
    ['execute_mcp_tool', args => wrapped(JSON.stringify(args))],
    ['execute_mcp_tool', args => `{"arguments":${wrapped(args)}}`],
    ['files__read', args => args],
    ['read', args => args, { route: { kind: 'server', server: 'files' } }],
  ]
  for (const [name, write, more] of ways) {
    for (const args of REPEATED) {
      const { isError, text, sent } = await call(fixture, name, write(args), more)
      assert.deepEqual([isError, sent], [true, []], `${name} ${write(args)}`)
      assert.match(text, /same name more than once/)
    }
    const { isError, sent } = await call(fixture, name, write(ONCE), more)
    assert.equal(isError, undefined)
    assert.equal(sent[0]?.call.argumentsText, ONCE)
  }
})
